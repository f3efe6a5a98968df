# What the plots share: reading the notes of a data file, colours, terminals, the picture's frame.
# Loaded by the other scripts with `data` and `out` set; draws nothing itself. Sizes are pixels of
# a picture 800 wide, the width of a review comment; a PNG has twice as many of them.

set encoding utf8
set datafile separator tab
set datafile missing NaN

# --- The notes: comment lines `# key<tab>value` above the data.
array series[100]
series_count = 0
cpus = 0
caption = ""
base = ""
headline = 0
confidence = 95
note(key, value) = key eq "# series" ? (series_count = series_count + 1, series[series_count] = value, 0) : \
                   key eq "# cpus" ? (cpus = int(value), 0) : \
                   key eq "# threads" ? (headline = int(value), 0) : \
                   key eq "# confidence" ? (confidence = int(value), 0) : \
                   key eq "# caption" ? (caption = value, 0) : \
                   key eq "# base" ? (base = value, 0) : 0
set datafile commentschars ""
stats data using (note(strcol(1), strcol(2)), 0) nooutput
set datafile commentschars "#"

# A field as a number; NaN when it is empty. Not by $n: gnuplot leaves out lines where that is
# missing, with everything that is counted on the way. The last field of a line must not be empty:
# gnuplot does not count it and gives what an earlier line had there.
field(n) = strlen(strcol(n)) > 0 ? real(strcol(n)) : NaN

# Lists of words: the names of cases and series hold no blanks.
add(list, s) = strstrt(" " . list . " ", " " . s . " ") ? list : list . " " . s
max(a, b) = a > b ? a : b
min(a, b) = a < b ? a : b
ceiling(x) = int(x) + (x > int(x) ? 1 : 0)

# "1 thread", "2 threads".
counted(n, noun) = sprintf("%d %s%s", n, noun, n == 1 ? "" : "s")

# A name cut to a width in pixels.
fit(name, px) = strlen(name) * 7.0 <= px ? name : name[1:max(1, int(px / 7.0) - 1)] . "…"

# --- Colours that colour-blind readers tell apart (Okabe and Ito, the yellow left out), and a
# point type each, so that a grey print still tells the series apart. The base is black.
array colour[10] = ["#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", \
                    "#8B6914", "#999999", "#5D3A9B"]
array shape[10] = [7, 5, 9, 13, 11, 4, 6, 8, 12, 10]
index(s) = (s - 1) % 10 + 1
grey = "#666666"
shade = "#EFEFEF"

# --- The terminal, from the picture's name. Points of 3/4 pixel, hence the PNG's font sizes.
width = 800
is_png = strlen(out) > 4 && out[strlen(out) - 3:] eq ".png"
font(px) = is_png ? sprintf("DejaVu Sans,%g", px * 0.75) : sprintf("sans-serif,%g", px)
open_picture = is_png ? \
  'set terminal pngcairo size 2 * width, 2 * height fontscale 2 linewidth 2 pointscale 2 noenhanced font font(12)' : \
  'set terminal svg size width, height noenhanced font font(12) background "white"'

# Positions from the top left, in pixels, as screen fractions.
X(px) = px / real(width)
Y(px) = 1 - px / real(height)

# --- The legend: drawn by hand, since gnuplot's own cannot span panels. Rows of equal columns.
longest = 0
do for [s = 1:series_count] { longest = max(longest, strlen(series[s])) }
legend_column = 44 + 7.2 * longest
legend_columns = max(1, min(series_count, int((width - 30) / legend_column)))
legend_rows = series_count == 0 ? 0 : ceiling(series_count / real(legend_columns))
legend_height = 20 * legend_rows
draw_legend = 'do for [s = 1:series_count] { \
  lx = 15 + legend_column * ((s - 1) % legend_columns); \
  ly = legend_top + 20 * ((s - 1) / legend_columns); \
  set arrow 100 + s from screen X(lx), Y(ly) to screen X(lx + 28), Y(ly) nohead lw 2 lc rgb colour[index(s)]; \
  set label 100 + s series[s] at screen X(lx + 34), Y(ly) front; \
  set label 200 + s "" at screen X(lx + 14), Y(ly) point pt shape[index(s)] ps 0.9 lc rgb colour[index(s)] front \
}'

# --- Labels of a logarithmic axis in ns, each with its own unit, between `low` and `high`: every
# decade, or more of them where there are few.
array time_unit[4] = ["ns", "µs", "ms", "s"] # by powers of 1000
set_time_tics = 'set ytics (); \
  mantissas = high / low > 2000 ? "1" : high / low > 30 ? "1 3" : "1 2 3 5 7"; \
  do for [e = 0:11] { \
    do for [m = 1:words(mantissas)] { \
      t = word(mantissas, m) * 10.0 ** e; \
      power = min(3, e / 3); \
      if (t >= low && t <= high) { set ytics add (sprintf("%g %s", t / 1000.0 ** power, time_unit[power + 1]) t) } \
    } \
  }'

# --- Title and caption.
draw_frame = 'set label 1 title at screen X(15), Y(20) font font(15); \
  set label 2 subtitle at screen X(15), Y(40) font font(12) textcolor rgb grey; \
  set label 3 caption at screen X(15), Y(height - 12) font font(11) textcolor rgb grey'
