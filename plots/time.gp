# Time of an op against threads, one panel a case.
#   gnuplot -c plots/time.gp RUN/plots/curves.tsv time.svg      (or .png)
data = ARG1
out = ARG2
slash = 0
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { slash = i } }
load ARG0[1:slash] . "common.gp"

title = "Time per op against threads: lower is better"
subtitle = sprintf("elapsed time / ops, log scale; bars: %d %% intervals of the median", confidence)
logarithmic = 1
shown(ns) = ns
array unit[4] = ["ns/op", "µs/op", "ms/op", "s/op"] # by powers of 1000
load ARG0[1:slash] . "curves.gp"
