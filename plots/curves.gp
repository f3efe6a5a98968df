# One panel a case, strategies as lines against threads. Loaded by throughput.gp and time.gp, which
# set `title`, `subtitle`, how a value is made from ns/op, and its units; not a plot of its own.
#
# Data, tab separated: case, series, threads, ns/op, lower and upper bound (empty: unbounded).

# --- What is in the data.
cases = ""
threads = ""
most = 0
unbounded = 0
stats data using (cases = add(cases, strcol(1)), threads = add(threads, strcol(3)), \
                  most = max(most, int($3)), unbounded = unbounded + (strlen(strcol(5)) > 0 && strlen(strcol(6)) > 0 ? 0 : 1), 0) nooutput
cases = cases[2:]
panel_count = words(cases)
least = most
do for [i = 1:words(threads)] { least = min(least, int(word(threads, i))) }

# How far a point reaches with its bar; very long bars are cut, or the curves would be flat.
cut = logarithmic ? 2.5 : 1.5
bar_end(a, v) = a == a ? shown(a) : v
reach_up(v, a, b) = min(cut * v, max(bar_end(a, v), bar_end(b, v)))
reach_down(v, a, b) = max(v / cut, min(bar_end(a, v), bar_end(b, v)))

# Each panel's range; read before any axis is set, since stats leaves out what an axis does.
array highest[panel_count]
array lowest[panel_count]
do for [p = 1:panel_count] {
  high = 0
  low = 1e300
  stats data using (strcol(1) eq word(cases, p) ? (high = max(high, reach_up(shown($4), field(5), field(6))), \
                                                   low = min(low, reach_down(shown($4), field(5), field(6))), 0) : 0) nooutput
  highest[p] = high
  lowest[p] = low
}

# --- The grid. Three columns are the most that stay legible in the width of a comment.
columns = panel_count <= 3 ? panel_count : panel_count == 4 ? 2 : 3
rows = ceiling(panel_count / real(columns))
panel_height = columns == 1 ? 280 : 190
row_step = panel_height + 62
legend_top = 66
top = legend_top + legend_height + 26
height = top + rows * row_step + 2
left = 58
column_step = (width - 10) / columns
panel_width = column_step - left - 12

@open_picture
set output out
set multiplot
if (cpus > 0 && most > cpus) { subtitle = subtitle . sprintf("; shaded: more threads than CPUs (%d)", cpus) }
@draw_legend

if (unbounded > 0) { subtitle = subtitle . "; no bar: too few samples" }
@draw_frame

set logscale x 2
# Steps where the machine's CPUs are all taken lie between `cpus` and the next thread count.
next_up = 2 * most
do for [i = 1:words(threads)] { t = int(word(threads, i)); if (t > cpus && t < next_up) { next_up = t } }
edge = sqrt(cpus * real(next_up))
x_low = least / (least == most ? 2 : 1.25)
x_high = most * (least == most ? 2 : 1.25)
set xrange [x_low:x_high]

# Labels on the axis: every count while they fit, else powers of two and the last one.
power_of_two(t) = 2 ** int(log(t) / log(2) + 0.5) == t
set xtics () nomirror scale 0.5 offset 0, 0.3
do for [i = 1:words(threads)] {
  t = int(word(threads, i))
  if (words(threads) <= 6 || power_of_two(t) || t == most) { set xtics add (sprintf("%d", t) t) }
}
set ytics nomirror scale 0.5
set border 3 lc rgb grey
set grid ytics back lt 1 lc rgb "#D0D0D0" lw 0.5
set xlabel "threads" font font(11) offset 0, 0.9
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

  # The panel's unit: the largest that leaves the top of the axis above 1.
  high = highest[p]
  low = lowest[p]
  power = high <= 0 ? 0 : max(0, min(3, int(floor(log10(high) / 3 + 1e-9))))
  scale = 1000.0 ** power
  if (logarithmic) {
    set logscale y
    set yrange [low / scale / 1.35:high / scale * 1.1]
    set ytics ()
    mantissas = high / low > 10 ? "1 2 5" : "1 1.5 2 3 4 5 7"
    do for [e = -1:3] {
      do for [m = 1:words(mantissas)] { t = word(mantissas, m) * 10.0 ** e; set ytics add (sprintf("%g", t) t) }
    }
  } else {
    set yrange [0:high / scale * 1.12]
  }
  set label 12 unit[power + 1] at screen X(x0 - left + 12), Y(y0 + panel_height / 2) center rotate by 90 font font(11)
  set label 10 fit(name, column_step - 10) at screen X(x0 - left + 12), Y(y0 - 12) font font(12)

  unset object 1
  unset label 11
  if (cpus > 0 && most > cpus) {
    set object 1 rectangle from max(edge, x_low), graph 0 to x_high, graph 1 fc rgb shade fs solid noborder behind
    # Where a collapsed strategy is not: its throughput lies at the bottom, its time at the top.
    set label 11 "oversubscribed" at max(edge, x_low), graph (logarithmic ? 0 : 1) left \
      offset 0.4, (logarithmic ? 0.7 : -0.7) \
      font font(11) textcolor rgb grey back
  }

  # Series stand a little apart, at most 2 pixels each, so that bars do not hide each other.
  pixel = (x_high / x_low) ** (1.0 / panel_width)
  apart(t, s) = t * pixel ** (min(2, 12.0 / series_count) * (s - (series_count + 1) / 2.0))
  bound(v, fallback) = v == v ? shown(v) : fallback
  mine(s) = strcol(1) eq name && strcol(2) eq series[s]
  plot for [s = 1:series_count] data using (mine(s) ? apart($3, s) : NaN):(shown($4) / scale): \
         (bound($5, shown($4)) / scale):(bound($6, shown($4)) / scale) \
         with yerrorbars pt -1 lw 1 lc rgb colour[index(s)], \
       for [s = 1:series_count] data using (mine(s) ? apart($3, s) : NaN):(shown($4) / scale) \
         with linespoints pt shape[index(s)] ps 0.8 lw 1.6 lc rgb colour[index(s)]

  # Title, caption and legend belong to the first panel only.
  unset arrow
  do for [l = 1:3] { unset label l }
  do for [s = 1:series_count] { unset label 100 + s; unset label 200 + s }
}
unset multiplot
unset output
