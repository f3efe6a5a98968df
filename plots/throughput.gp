# Operations a second against threads, one panel a case.
#   gnuplot -c plots/throughput.gp RUN/plots/curves.tsv throughput.svg      (or .png)
data = ARG1
out = ARG2
slash = 0
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { slash = i } }
load ARG0[1:slash] . "common.gp"

title = "Throughput against threads: higher is better"
logarithmic = 0
subtitle = sprintf("all threads together; bars: %d %% intervals of the median", confidence)
shown(ns) = 1e9 / ns
array unit[4] = ["ops/s", "1000 ops/s", "million ops/s", "billion ops/s"] # by powers of 1000
load ARG0[1:slash] . "curves.gp"
