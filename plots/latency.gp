# How long single ops take: percentiles, one panel a case, a line a strategy.
#   gnuplot -c plots/latency.gp RUN/plots/latency.tsv latency.svg      (or .png)
#
# Data, tab separated: case, series, share of the ops that took no longer, ns, lower and upper bound
# of its median over the samples (empty: unbounded), number of samples. A percentile that a sample
# was too short for has no line.
data = ARG1
out = ARG2
slash = 0
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { slash = i } }
load ARG0[1:slash] . "common.gp"

# --- What is in the data: cases, and from where to where each panel reaches with its bars. Very
# long bars are cut, or the lines would be flat.
cases = ""
stats data using (cases = add(cases, strcol(1)), 0) nooutput
cases = cases[2:]
panel_count = words(cases)
cut = 3.0
# Without a bound the bar ends at its point.
bar_end(n) = strlen(strcol(n)) > 0 && real(strcol(n)) > 0 ? real(strcol(n)) : real(strcol(4))
reach_up(n) = min(cut * field(4), bar_end(n))
reach_down(n) = max(field(4) / cut, bar_end(n))
array highest[panel_count]
array lowest[panel_count]
do for [p = 1:panel_count] {
  high = 1
  low = 1e300
  stats data using (strcol(1) eq word(cases, p) && field(4) > 0 ? \
    (high = max(high, reach_up(6)), low = min(low, reach_down(5)), 0) : 0) nooutput
  highest[p] = high
  lowest[p] = min(low, high)
}

# --- The grid, as in the curves: three columns are the most that stay legible in a comment.
title = sprintf("How long single ops take at %s: lower is better", counted(headline, "thread"))
subtitle = sprintf("percentiles of timed ops, both axes logarithmic; bars: %d %% intervals of the median over samples", confidence)
oversubscribed = cpus > 0 && headline > cpus
columns = panel_count <= 3 ? panel_count : panel_count == 4 ? 2 : 3
rows = ceiling(panel_count / real(columns))
panel_height = columns == 1 ? 280 : 190
row_step = panel_height + 62
legend_top = oversubscribed ? 84 : 66
top = legend_top + legend_height + 26
height = top + rows * row_step + 2
left = 58
column_step = (width - 10) / columns
panel_width = column_step - left - 12

@open_picture
set output out
set multiplot
@draw_legend
@draw_frame
if (oversubscribed) {
  set label 4 sprintf("%s share %s: the tail is the scheduler's, the time slices of others in which an op stood still", counted(headline, "thread"), counted(cpus, "CPU")) \
    at screen X(15), Y(58) font font(12) textcolor rgb "#D55E00"
}

# An op in two, in ten, in a hundred, in a thousand takes longer: equal steps of a logarithm.
place(share) = 1 / (1 - share)
set logscale xy
x_low = 1.4
x_high = 1450.0
set xrange [x_low:x_high]
set xtics ("50 %%" 2, "90 %%" 10, "99 %%" 100, "99.9 %%" 1000) nomirror scale 0.5 offset 0, 0.3
set ytics nomirror scale 0.5
set border 3 lc rgb grey
set grid xtics ytics back lt 1 lc rgb "#D0D0D0" lw 0.5
set xlabel "of ops take no longer" font font(11) offset 0, 0.9
unset key

do for [p = 1:panel_count] {
  name = word(cases, p)
  column = (p - 1) % columns
  row = (p - 1) / columns
  x0 = left + column * column_step
  y0 = top + row * row_step
  set lmargin at screen X(x0)
  set rmargin at screen X(x0 + panel_width)
  set tmargin at screen Y(y0)
  set bmargin at screen Y(y0 + panel_height)

  # A panel may reach from ns to s.
  high = highest[p] * 1.6
  low = lowest[p] / 1.35
  set yrange [low:high]
  @set_time_tics
  set label 10 fit(name, column_step - 10) at screen X(x0 - left + 12), Y(y0 - 12) font font(12)

  # Series stand a little apart, at most 2 pixels each, so that bars do not hide each other.
  pixel = (x_high / x_low) ** (1.0 / panel_width)
  apart(share, s) = place(share) * pixel ** (min(2, 12.0 / series_count) * (s - (series_count + 1) / 2.0))
  mine(s) = strcol(1) eq name && strcol(2) eq series[s] && field(4) > 0
  plot for [s = 1:series_count] data using (mine(s) ? apart(field(3), s) : NaN):(field(4)): \
         (bar_end(5)):(bar_end(6)) \
         with yerrorbars pt -1 lw 1 lc rgb colour[index(s)], \
       for [s = 1:series_count] data using (mine(s) ? apart(field(3), s) : NaN):(field(4)) \
         with linespoints pt shape[index(s)] ps 0.8 lw 1.6 lc rgb colour[index(s)]

  # Title, caption and legend belong to the first panel only.
  unset arrow
  do for [l = 1:4] { unset label l }
  do for [s = 1:series_count] { unset label 100 + s; unset label 200 + s }
}
unset multiplot
unset output
