# shellcheck shell=bash disable=SC2154,SC2034 # variables of and for bench.sh
# What the benches share: samples of one cell each, and rows of the table. Sourced by bench.sh, which
# sets poolbench, window, tmp and missed.

# ---- samples ----

# The CPUs this process may use, one a line.
allowed_cpus() {
  awk '/^Cpus_allowed_list:/ { n = split($2, parts, ",")
    for (i = 1; i <= n; i++) { m = split(parts[i], ends, "-")
      for (cpu = ends[1]; cpu <= ends[m]; cpu++) print cpu } }' /proc/self/status
}
mapfile -t cpus < <(allowed_cpus | head -n 2)

switches=() # more of the worker's, for one measurement
# measure FILE CASE STRATEGY THREADS [LIBRARY]: a sample on the first two CPUs; 1: it failed.
measure() {
  local file=$1 name=$2 strategy=$3 threads=$4 library=${5:-} map="" i
  for ((i = 0; i < threads; i++)); do map+=${map:+,}${cpus[i % ${#cpus[@]}]}; done
  LD_PRELOAD=$library "$poolbench" worker --case "$name" --strategy "$strategy" \
    --threads "$threads" --cpu-map "$map" --window "$window" --limit 60000000000 \
    --counters "" "${switches[@]}" --fd 3 3>"$file" 2>"$tmp/stderr"
  if [[ $(tail -n 1 "$file") != end ]] || grep -q '^\(error\|bound\) ' "$file"; then
    grep '^\(error\|bound\) ' "$file" >"$tmp/why" || cp "$tmp/stderr" "$tmp/why"
    return 1
  fi
}

# unit FILE NAME
unit() { awk -v name="$2" '$1 == "unit" && $3 == name { print $2; exit }' "$1"; }

# ns, cpu_ns CASE STRATEGY THREADS [LIBRARY]: of one sample.
ns() { measure "$tmp/sample" "$@" && unit "$tmp/sample" ns/op; }
cpu_ns() { measure "$tmp/sample" "$@" && unit "$tmp/sample" cpu-ns/op; }

# best ns|cpu_ns CASE STRATEGY THREADS: the least of five processes.
best() {
  local i
  for ((i = 0; i < best_of; i++)); do "$@" || return 1; done | sort -g | head -n 1
}

# The median of the numbers on stdin.
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
calc() { awk "BEGIN { printf \"%.4g\", $1 }"; }

# ---- the table ----

heading() { printf '\n%-62s %10s %12s\n' "$1" measured bar; }

# row TEXT VALUE RELATION BAR [REMARK]: RELATION is <= or >=.
row() {
  local verdict=ok
  if ! awk "BEGIN { exit !($2 $3 $4) }"; then verdict=MISSED missed=1; fi
  printf '%-62s %10s %12s  %s%s\n' "$1" "$2" "$3 $4" "$verdict" "${5:+  ($5)}"
}

# not_measured TEXT: says why, from the last sample that failed.
not_measured() {
  printf '%-62s %10s %12s  MISSED  (%s)\n' "$1" - - "$(head -c 200 "$tmp/why" | head -n 1)"
  missed=1
}
