# Every series against the base with its interval, one band a case.
#   gnuplot -c plots/delta.gp RUN/plots/delta.tsv delta.svg      (or .png)
#
# Data, tab separated: case, series, ratio to the base, lower and upper bound (empty: unbounded),
# adjusted p, verdict. Filled points are decided ones, hollow ones are not.
data = ARG1
out = ARG2
slash = 0
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { slash = i } }
load ARG0[1:slash] . "common.gp"

# --- Every row gets its place: pixels from the top of the plot, a case's name above its rows.
row_px = 17
case_px = 24
gap_px = 8
array row_y[1000]
array row_series[1000]
array row_text[1000]
array row_ratio[1000]
array row_low[1000]
array row_high[1000]
array row_verdict[1000]
array case_y[100]
array case_end[100]
row_count = 0
case_count = 0
cases = ""
y = 0
low = 1
high = 1
new_case(c) = (case_count > 0 ? (case_end[case_count] = y, 0) : 0, y = y + (case_count > 0 ? gap_px : 0), \
               case_count = case_count + 1, case_y[case_count] = y, cases = cases . " " . c, y = y + case_px)
percent(r) = sprintf(r >= 2 ? "%+.0f %%" : "%+.1f %%", 100 * (r - 1))
new_row(c, s, r, lo, hi, v) = (c eq word(cases, case_count) ? 0 : new_case(c), row_count = row_count + 1, \
                       row_y[row_count] = y + row_px / 2.0, row_series[row_count] = s, \
                       row_text[row_count] = percent(r) . "  " . v, y = y + row_px, \
                       row_ratio[row_count] = r, row_low[row_count] = lo, row_high[row_count] = hi, \
                       row_verdict[row_count] = v, 0)
reach(r) = r == r && r > 0 ? (low = min(low, r), high = max(high, r), 0) : 0
stats data using (new_row(strcol(1), strcol(2), field(3), field(4), field(5), strcol(7)), \
                  reach(field(3)), reach(field(4)), reach(field(5)), 0) nooutput
case_end[case_count] = y
body = y

# --- The picture. Names left, words right, in the middle the axis.
title = sprintf("Time per op against %s%s: left is faster", base, headline ? " at " . counted(headline, "thread") : "")
subtitle = sprintf("ratio with its %d %% interval; filled: decided, hollow: undecided; dashed: no bound", confidence)
longest = 0
do for [s = 1:series_count] { longest = max(longest, strlen(series[s])) }
left = max(120, min(260, 40 + 7.2 * longest))
right = 150
top = 58
height = top + body + 82
@open_picture
set output out
@draw_frame
set lmargin at screen X(left)
set rmargin at screen X(width - right)
set tmargin at screen Y(top)
set bmargin at screen Y(top + body + 4)
set yrange [body + 4:0]

# A logarithmic axis, since half and double are the same distance; its labels are changes in per
# cent while they fit, then multiples.
span = max(high / low, 1.02)
x_low = low / span ** 0.06
x_high = high * span ** 0.06
set xrange [x_low:x_high]
set logscale x
set xtics () nomirror scale 0.5
if (x_high / x_low < 2.6) {
  room = log(x_high / x_low) * 100
  step = room < 4 ? 0.5 : room < 9 ? 1 : room < 18 ? 2 : room < 45 ? 5 : 10
  do for [k = -200:300] {
    r = 1 + k * step / 100.0
    if (r > x_low && r < x_high) { set xtics add (k == 0 ? "same" : sprintf("%+g %%%%", k * step) r) }
  }
} else {
  steps = x_high / x_low < 12 ? "0.1 0.15 0.2 0.3 0.4 0.5 0.7 1 1.5 2 3 4 5 7 10" : \
          x_high / x_low < 150 ? "0.02 0.05 0.1 0.2 0.5 1 2 5 10 20 50 100" : \
                                "0.0001 0.001 0.01 0.1 0.3 1 3 10 30 100 300 1000 10000"
  do for [k = 1:words(steps)] {
    r = real(word(steps, k))
    if (r > x_low && r < x_high) { set xtics add (r == 1 ? "same" : sprintf("%gx", r) r) }
  }
}
set xlabel sprintf("time per op relative to %s (log scale)", base) font font(11)
unset ytics
set border 1 lc rgb grey
set grid xtics back lt 1 lc rgb "#D0D0D0" lw 0.5
unset key

series_index(s) = sum [k = 1:series_count] (series[k] eq s ? k : 0)
do for [c = 1:case_count] {
  set object c rectangle from graph 0, first case_y[c] to graph 1, first case_end[c] fc rgb "#F4F4F4" fs solid noborder behind
  set label 1000 + c fit(word(cases, c), left + 300) at screen X(15), Y(top + case_y[c] + 13) font font(12)
}
do for [r = 1:row_count] {
  set label 2000 + r fit(row_series[r], left - 30) at screen X(left - 10), Y(top + row_y[r]) right \
    textcolor rgb colour[index(series_index(row_series[r]))] font font(12)
  set label 3000 + r row_text[r] at screen X(width - right + 12), Y(top + row_y[r]) font font(11)
}
set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb "#000000" lw 1 front

# Drawn as arrows and points, not as data: every row has a shape of its own.
finite(v) = v == v
do for [r = 1:row_count] {
  c = colour[index(series_index(row_series[r]))]
  if (finite(row_low[r]) && finite(row_high[r])) {
    set arrow 1000 + r from row_low[r], row_y[r] to row_high[r], row_y[r] heads size screen 0.004, 90 lw 1.8 lc rgb c front
  } else {
    set arrow 1000 + r from graph 0, first row_y[r] to graph 1, first row_y[r] nohead dt 2 lw 1 lc rgb c front
  }
  decided = row_verdict[r] ne "undecided"
  set label 4000 + r "" at row_ratio[r], row_y[r] point pt 7 ps (decided ? 0.8 : 0.9) lc rgb c front
  if (!decided) { set label 5000 + r "" at row_ratio[r], row_y[r] point pt 7 ps 0.5 lc rgb "#FFFFFF" front }
}
plot '+' using (1):(0) with dots lc rgb "#FFFFFF"
unset output
