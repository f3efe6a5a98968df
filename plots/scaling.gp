# Throughput against threads, the fitted law, and what more CPUs would bring; one panel a case.
#   gnuplot -c plots/scaling.gp RUN/plots/scaling.tsv scaling.svg      (or .png)
#
# Data, tab separated: case, series, threads, ops/s, lower and upper bound (empty: none), kind.
# Kinds: point (a core for every thread), over (more threads than cores), fit (the law, or the line
# between two points), forecast (the interval; its middle is empty where the model has none).
data = ARG1
out = ARG2
slash = 0
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { slash = i } }
load ARG0[1:slash] . "common.gp"

# --- What is in the data.
cases = ""
threads = ""
last_core = 1
most = 1
forecast = 0
array highest[100]
array lowest[100]
panel_count = 0
new_case(c) = (cases = cases . " " . c, panel_count = panel_count + 1, highest[panel_count] = 0, \
               lowest[panel_count] = 1e300, 0)
seen(v) = v == v && v > 0 ? (highest[panel_count] = max(highest[panel_count], v), \
                             lowest[panel_count] = min(lowest[panel_count], v), 0) : 0
stats data using (panel_count > 0 && strcol(1) eq word(cases, panel_count) ? 0 : new_case(strcol(1)), \
                  strcol(7) eq "fit" ? 0 : (threads = add(threads, strcol(3)), 0), most = max(most, $3), \
                  strcol(7) eq "point" ? (last_core = max(last_core, $3), 0) : 0, \
                  strcol(7) eq "forecast" ? (forecast = max(forecast, $3), 0) : 0, \
                  seen(field(4)), strcol(7) eq "over" ? 0 : (seen(field(5)), seen(field(6)), 0), 0) nooutput

title = "Scaling: throughput against threads"
subtitle = sprintf("both axes log; bars: %d %% intervals; line: fit up to the cores measured (%d)", confidence, last_core)
if (forecast > 0) { subtitle = subtitle . sprintf("; dashed: forecast for %d cores", forecast) }

# --- The grid.
columns = panel_count <= 3 ? max(1, panel_count) : panel_count == 4 ? 2 : 3
rows = ceiling(panel_count / real(columns))
panel_height = columns == 1 ? 300 : 210
row_step = panel_height + 62
legend_top = 66
top = legend_top + legend_height + 26
height = top + rows * row_step + 20
left = 76
column_step = (width - 10) / columns
panel_width = column_step - left - 12

@open_picture
set output out
set multiplot
@draw_legend
@draw_frame
set label 4 "hollow: more threads than cores, which enters no fit" at screen X(15), Y(height - 28) font font(11) textcolor rgb grey

set logscale xy
x_low = 0.85
x_high = most * 1.2
set xrange [x_low:x_high]
power_of_two(t) = 2 ** int(log(t) / log(2) + 0.5) == t
set xtics () nomirror scale 0.5 offset 0, 0.3
do for [i = 1:words(threads)] {
  t = int(word(threads, i))
  if (power_of_two(t) || t == most) { set xtics add (sprintf("%d", t) t) }
}
set border 3 lc rgb grey
set grid ytics back lt 1 lc rgb "#D0D0D0" lw 0.5
set xlabel "threads" font font(11) offset 0, 0.9
unset key
array unit[4] = ["ops/s", "1000 ops/s", "million ops/s", "billion ops/s"] # by powers of 1000

do for [p = 1:panel_count] {
  name = word(cases, p)
  x0 = left + ((p - 1) % columns) * column_step
  y0 = top + ((p - 1) / columns) * row_step
  set lmargin at screen X(x0)
  set rmargin at screen X(x0 + panel_width)
  set tmargin at screen Y(y0)
  set bmargin at screen Y(y0 + panel_height)

  # The panel's unit: the largest that leaves the top of the axis above 1.
  power = max(0, min(3, int(floor(log10(highest[p]) / 3 + 1e-9))))
  scale = 1000.0 ** power
  low = lowest[p] / scale / 1.3
  high = highest[p] / scale * 1.3
  set yrange [low:high]
  set ytics () nomirror scale 0.5
  mantissas = high / low > 300 ? "1" : high / low > 20 ? "1 3" : high / low > 5 ? "1 2 5" : "1 1.5 2 3 4 5 7"
  do for [e = -9:3] {
    do for [m = 1:words(mantissas)] {
      t = word(mantissas, m) * 10.0 ** e
      if (t >= low && t <= high) { set ytics add (sprintf("%g", t) t) }
    }
  }
  set label 12 unit[power + 1] at screen X(x0 - left + 12), Y(y0 + panel_height / 2) center rotate by 90 font font(11)
  set label 10 fit(name, column_step - 10) at screen X(x0 - left + 12), Y(y0 - 12) font font(12)

  # Beyond the cores measured.
  unset object 1
  unset label 11
  if (most > last_core) {
    set object 1 rectangle from last_core * 1.1, graph 0 to x_high, graph 1 fc rgb shade fs solid noborder behind
    set label 11 (forecast > last_core ? "forecast" : "more threads than cores") at x_high, graph 0 right offset -0.4, 0.7 \
      font font(11) textcolor rgb grey front
  }

  # Points stand a little apart, so that bars do not hide each other; lines do not, they start alike.
  pixel = (x_high / x_low) ** (1.0 / panel_width)
  apart(t, s) = t * pixel ** (min(3, 14.0 / series_count) * (s - (series_count + 1) / 2.0))
  bound(v, fallback) = v == v ? v : fallback
  of(kind, s) = strcol(1) eq name && strcol(2) eq series[s] && strcol(7) eq kind
  plot for [s = 1:series_count] data using (of("forecast", s) ? $3 : NaN):(field(5) / scale):(field(6) / scale) \
         with filledcurves fc rgb colour[index(s)] fs transparent solid 0.12 noborder, \
       for [s = 1:series_count] data using (of("forecast", s) ? $3 : NaN):(field(5) / scale) \
         with lines lw 1.2 dt 2 lc rgb colour[index(s)], \
       for [s = 1:series_count] data using (of("forecast", s) ? $3 : NaN):(field(6) / scale) \
         with lines lw 1.2 dt 2 lc rgb colour[index(s)], \
       for [s = 1:series_count] data using (of("forecast", s) ? $3 : NaN):(field(4) / scale) \
         with lines lw 1 dt 3 lc rgb colour[index(s)], \
       for [s = 1:series_count] data using (of("fit", s) ? $3 : NaN):(field(4) / scale) \
         with lines lw 1.8 lc rgb colour[index(s)], \
       for [s = 1:series_count] data using (of("point", s) ? apart($3, s) : NaN):(field(4) / scale): \
         (bound(field(5), field(4)) / scale):(bound(field(6), field(4)) / scale) \
         with yerrorbars pt shape[index(s)] ps 0.8 lw 1 lc rgb colour[index(s)], \
       for [s = 1:series_count] data using (of("over", s) ? apart($3, s) : NaN):(field(4) / scale) \
         with points pt 6 ps 0.7 lw 1 lc rgb colour[index(s)]

  # Title, caption and legend belong to the first panel only.
  unset arrow
  do for [l = 1:4] { unset label l }
  do for [s = 1:series_count] { unset label 100 + s; unset label 200 + s }
}
unset multiplot
unset output
