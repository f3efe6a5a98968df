# What memory a burst leaves: RSS and live bytes at the marks of a series, one panel a case. Below,
# on the same axis, what an update cost where the series has updates.
#   gnuplot -c plots/memory.gp RUN/plots/memory.tsv memory.svg      (or .png)
#
# Data, tab separated: case, series, step, phase, ns since the series began, live bytes, ns an
# update or nothing, RSS. Steps are equally far apart: a burst takes a second, a trim microseconds,
# an idle wait what was asked.
data = ARG1
out = ARG2
slash = 0
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { slash = i } }
load ARG0[1:slash] . "common.gp"

title = "Memory over time: what stays of a burst"
subtitle = "solid: RSS, dashed: live bytes, pooled ones included; steps in their order, time not to scale"

# --- What is in the data: the cases, and for each its phases and its top.
cases = ""
stats data using (cases = add(cases, strcol(1)), 0) nooutput
cases = cases[2:]
panel_count = words(cases)
array phases[panel_count]
array highest[panel_count]
array slowest[panel_count] # ns an update; 0: there are none
array fastest[panel_count]
longest_phase = 0
slow(x) = x == x ? max(high_ns, x) : high_ns # NaN is not itself
fast(x) = x == x ? min(low_ns, x) : low_ns
do for [p = 1:panel_count] {
  list = ""
  high = 0
  high_ns = 0
  low_ns = 1e300
  stats data using (strcol(1) eq word(cases, p) ? (list = add(list, strcol(4)), high = max(high, max(field(6), field(8))), high_ns = slow(field(7)), low_ns = fast(field(7)), 0) : 0) nooutput
  phases[p] = list[2:]
  highest[p] = high
  slowest[p] = high_ns
  fastest[p] = low_ns
  do for [k = 1:words(phases[p])] { longest_phase = max(longest_phase, strlen(word(phases[p], k))) }
}
any_updates = 0
do for [p = 1:panel_count] { any_updates = any_updates || slowest[p] > 0 }

columns = panel_count == 1 ? 1 : 2
rows = ceiling(panel_count / real(columns))
panel_height = columns == 1 ? 280 : 190
update_height = any_updates ? 90 : 0
update_gap = any_updates ? 30 : 0
# Phases stand below at an angle of 40 degrees, 6.5 pixels a letter.
row_step = panel_height + update_gap + update_height + 4.2 * longest_phase + 50
legend_top = 66
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
set ytics nomirror scale 0.5
set border 3 lc rgb grey
set grid ytics back lt 1 lc rgb "#D0D0D0" lw 0.5
unset key
tic_font = font(11)
array unit[4] = ["B", "KiB", "MiB", "GiB"]

do for [p = 1:panel_count] {
  name = word(cases, p)
  x0 = left + ((p - 1) % columns) * column_step
  y0 = top + ((p - 1) / columns) * row_step
  set lmargin at screen X(x0)
  set rmargin at screen X(x0 + panel_width)
  set tmargin at screen Y(y0)
  set bmargin at screen Y(y0 + panel_height)
  unset logscale y
  set ytics () autofreq
  high = max(highest[p], 1)
  power = max(0, min(3, int(floor(log(high) / log(1024) + 1e-9))))
  scale = 1024.0 ** power
  set yrange [0:high / scale * 1.08]
  set xrange [0.7:words(phases[p]) + 0.3]
  set xtics () nomirror scale 0.5 rotate by 40 right offset 0.6, 0 font tic_font
  has_updates = slowest[p] > 0
  do for [k = 1:words(phases[p])] { set xtics add (has_updates ? "" : word(phases[p], k) k) }
  set label 12 unit[power + 1] at screen X(x0 - left + 12), Y(y0 + panel_height / 2) center rotate by 90 font font(11)
  set label 10 fit(name, column_step - 10) at screen X(x0 - left + 12), Y(y0 - 12) font font(12) textcolor rgb "black"

  # Strategies stand a little apart, at most 3 pixels each: many of them hold the same.
  pixel = (words(phases[p]) - 0.4) / panel_width
  apart(k, s) = k + pixel * min(3, 24.0 / series_count) * (s - (series_count + 1) / 2.0)
  mine(s) = strcol(1) eq name && strcol(2) eq series[s]
  # Both panels of a case hang on the steps of the lower one.
  plot for [s = 1:series_count] data using (mine(s) ? apart($3, s) : NaN):(field(6) / scale) \
         with lines dt 2 lw 1 lc rgb colour[index(s)], \
       for [s = 1:series_count] data using (mine(s) ? apart($3, s) : NaN):(field(8) / scale) \
         with linespoints pt shape[index(s)] ps 0.7 lw 1.6 lc rgb colour[index(s)]

  # Title, caption and legend belong to the first panel only.
  unset arrow
  do for [l = 1:3] { unset label l }
  do for [s = 1:series_count] { unset label 100 + s; unset label 200 + s }
  if (has_updates) {
    y1 = y0 + panel_height + update_gap
    set tmargin at screen Y(y1)
    set bmargin at screen Y(y1 + update_height)
    set label 10 "time an update takes, lower is better (log scale)" at screen X(x0 + 4), Y(y1 - 8) font font(11) textcolor rgb grey
    unset label 12
    set logscale y
    low = fastest[p] / 1.6
    high = slowest[p] * 1.6
    set yrange [low:high]
    @set_time_tics
    do for [k = 1:words(phases[p])] { set xtics add (word(phases[p], k) k) }
    plot for [s = 1:series_count] data using (mine(s) ? apart($3, s) : NaN):(field(7)) \
      with points pt shape[index(s)] ps 0.9 lc rgb colour[index(s)]
  }
}
unset multiplot
unset output
