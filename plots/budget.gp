# Where the time of an op goes: a bar a strategy, its states stacked, one band a case.
#   gnuplot -c plots/budget.gp RUN/plots/budget.tsv budget.svg      (or .png)
#
# Data, tab separated: case, strategy, state, ns per op, per cent of the base's ns/op. The states of
# a strategy stand together and add up to its ns/op; `# series` names the states in their order.
data = ARG1
out = ARG2
slash = 0
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { slash = i } }
load ARG0[1:slash] . "common.gp"

# --- Every strategy gets a row, every state a piece of it, begun where the last one ended.
row_px = 19
case_px = 24
gap_px = 8
array row_y[1000]
array row_name[1000]
array row_end[1000]
array row_ns[1000]
array piece_row[5000]
array piece_state[5000]
array piece_from[5000]
array piece_to[5000]
array case_y[100]
array case_end[100]
row_count = 0
piece_count = 0
case_count = 0
cases = ""
y = 0
most = 0
new_case(c) = (case_count > 0 ? (case_end[case_count] = y, 0) : 0, y = y + (case_count > 0 ? gap_px : 0), \
               case_count = case_count + 1, case_y[case_count] = y, cases = cases . " " . c, y = y + case_px)
new_row(s) = (row_count = row_count + 1, row_y[row_count] = y + row_px / 2.0, row_name[row_count] = s, \
              row_end[row_count] = 0, row_ns[row_count] = 0, y = y + row_px)
last_case = ""
last_name = ""
state_index(s) = sum [k = 1:series_count] (series[k] eq s ? k : 0)
new_piece(c, n, s, ns, percent) = ( \
  c eq last_case ? 0 : (new_case(c), last_name = "", 0), \
  n eq last_name ? 0 : (new_row(n), 0), last_case = c, last_name = n, \
  piece_count = piece_count + 1, piece_row[piece_count] = row_count, \
  piece_state[piece_count] = state_index(s), piece_from[piece_count] = row_end[row_count], \
  row_end[row_count] = row_end[row_count] + max(percent, 0), row_ns[row_count] = row_ns[row_count] + ns, \
  piece_to[piece_count] = row_end[row_count], most = max(most, row_end[row_count]), 0)
stats data using (new_piece(strcol(1), strcol(2), strcol(3), field(4), field(5)), 0) nooutput
case_end[case_count] = y
body = y

# --- The picture. Names left, times right, in the middle the axis; the legend below it.
title = sprintf("Where the time of an op goes%s", headline ? " at " . counted(headline, "thread") : "")
subtitle = sprintf("states of the threads, in per cent of the ns/op of %s", base)
if (cpus > 0 && headline > cpus) {
  subtitle = sprintf("what %s did, in per cent of the ns/op of %s", counted(cpus, "CPU"), base)
}
longest_name = 0
do for [r = 1:row_count] { longest_name = max(longest_name, strlen(row_name[r])) }
left = max(120, min(260, 40 + 7.2 * longest_name))
right = 90
top = 58
legend_top = top + body + 58
height = legend_top + legend_height + 34
@open_picture
set output out
@draw_frame
set lmargin at screen X(left)
set rmargin at screen X(width - right)
set tmargin at screen Y(top)
set bmargin at screen Y(top + body + 4)
set yrange [body + 4:0]
set xrange [0:max(most, 1) * 1.02]
set xtics nomirror scale 0.5 format "%g %%"
set xlabel sprintf("time per op relative to %s", base) font font(11)
unset ytics
set border 1 lc rgb grey
set grid xtics back lt 1 lc rgb "#D0D0D0" lw 0.5
unset key

time_text(ns) = ns < 1e3 ? sprintf("%.3g ns", ns) : ns < 1e6 ? sprintf("%.3g µs", ns / 1e3) : \
                sprintf("%.3g ms", ns / 1e6)
do for [c = 1:case_count] {
  set object c rectangle from graph 0, first case_y[c] to graph 1, first case_end[c] fc rgb "#F4F4F4" fs solid noborder behind
  set label 1000 + c fit(word(cases, c), left + 300) at screen X(15), Y(top + case_y[c] + 13) font font(12)
}
do for [r = 1:row_count] {
  set label 2000 + r fit(row_name[r], left - 30) at screen X(left - 10), Y(top + row_y[r]) right font font(12)
  set label 3000 + r time_text(row_ns[r]) at screen X(width - right + 12), Y(top + row_y[r]) font font(11)
}
do for [p = 1:piece_count] {
  if (piece_to[p] > piece_from[p]) {
    set object 1000 + p rectangle from piece_from[p], row_y[piece_row[p]] - 6.5 to piece_to[p], row_y[piece_row[p]] + 6.5 \
      fc rgb colour[index(piece_state[p])] fs solid border lc rgb "#FFFFFF" front
  }
}
do for [s = 1:series_count] {
  lx = 15 + legend_column * ((s - 1) % legend_columns)
  ly = legend_top + 20 * ((s - 1) / legend_columns)
  set object 9000 + s rectangle from screen X(lx), Y(ly - 6) to screen X(lx + 24), Y(ly + 6) fc rgb colour[index(s)] fs solid noborder front
  set label 9000 + s series[s] at screen X(lx + 34), Y(ly) front
}
plot '+' using (1):(0) with dots lc rgb "#FFFFFF"
unset output
