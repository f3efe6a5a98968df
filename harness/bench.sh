#!/usr/bin/env bash
# The figures that poolbench must reach, measured and judged.
#   harness/bench.sh [BUILD]      (make bench)
#   PARTS="empty pair scaling compare accuracy latency share" ROUNDS=7: what to measure, how often
# Drives `poolbench worker` itself, a process a sample, and one short `poolbench run`. Figures in
# ns are the best of five processes; ratios are medians over interleaved rounds, so that drift
# hits both sides. Only a machine with nothing else to do gives figures worth reading.
# Exits 1 when a bar is missed, 2 when there is no poolbench.
set -uo pipefail
export LC_ALL=C

build=${1:-build}
poolbench=$build/poolbench
rounds=${ROUNDS:-7}
best_of=5
window=250000000
libraries=${LIBRARIES:-/usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib /usr/local/lib}
[[ -x $poolbench ]] || { echo "bench: no $poolbench; run make first" >&2; exit 2; }
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
missed=0

# ---- samples ----

# The CPUs this process may use, one a line.
allowed_cpus() {
  awk '/^Cpus_allowed_list:/ { n = split($2, parts, ",")
    for (i = 1; i <= n; i++) { m = split(parts[i], ends, "-")
      for (cpu = ends[1]; cpu <= ends[m]; cpu++) print cpu } }' /proc/self/status
}
mapfile -t cpus < <(allowed_cpus | head -n 2)

switches=() # of the worker, for one measurement
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

# ns CASE STRATEGY THREADS [LIBRARY]: ns/op of one sample.
ns() { measure "$tmp/sample" "$@" && unit "$tmp/sample" ns/op; }

# best CASE STRATEGY THREADS: the least ns/op of five processes.
best() {
  local i
  for ((i = 0; i < best_of; i++)); do ns "$@" || return 1; done | sort -g | head -n 1
}

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

# ---- figures ----

bench_empty() {
  local threads value
  heading "cost of the harness, ns a thread"
  for threads in 1 2; do
    if value=$(best Selftest/empty malloc "$threads"); then
      row "empty op, $threads thread(s)" "$(calc "$value * $threads")" "<=" 2
    else
      not_measured "empty op, $threads thread(s)"
    fi
  done
}

# The library that each allocator is preloaded from.
find_library() {
  local folder
  for folder in $libraries; do
    [[ -e $folder/$1 ]] && { echo "$folder/$1"; return 0; }
  done
  return 1
}

pair=Micro/pair/64B

# Every round measures all sides once, each under its own allocator, null first.
pair_round() {
  local name
  for name in null per-thread pooled-freelists; do
    ns "$pair" "$name" 1 >>"$tmp/$name" || return 1
  done
  for name in "${allocators[@]}"; do
    ns "$pair" malloc 1 "${library[$name]}" >>"$tmp/malloc-$name" || return 1
  done
}

# net FILE: medians less the null strategy's, round by round.
net() { paste "$1" "$tmp/null" | awk '{ print $1 - $2 }'; }

pair_rows() {
  local name fastest="" least strategy value
  for name in "${allocators[@]}"; do
    value=$(net "$tmp/malloc-$name" | median)
    printf '%-62s %10.3g\n' "strategy malloc on $name, ns" "$value"
    if [[ -z $fastest ]] || awk "BEGIN { exit !($value < $least) }"; then
      fastest=$name least=$value
    fi
  done
  for strategy in per-thread pooled-freelists; do
    printf '%-62s %10.3g\n' "$strategy, ns" "$(net "$tmp/$strategy" | median)"
    value=$(paste <(net "$tmp/$strategy") <(net "$tmp/malloc-$fastest") |
      awk '{ print $1 / $2 }' | median)
    row "$strategy / malloc on $fastest, the fastest" "$(calc "$value")" "<=" 0.4
  done
}

bench_pair() {
  local name file i
  local -A library=([glibc]="")
  local -a allocators=(glibc)
  for name in jemalloc:libjemalloc.so.2 gperftools:libtcmalloc_minimal.so.4 \
    mimalloc:libmimalloc.so.2; do
    if file=$(find_library "${name#*:}"); then
      library[${name%%:*}]=$file
      allocators+=("${name%%:*}")
    else
      echo "${name%%:*}: ${name#*:} is not installed, left out"
    fi
  done
  heading "$pair, one thread, null subtracted (median of $rounds rounds)"
  for ((i = 0; i < rounds; i++)); do
    pair_round || { not_measured "round $i"; return; }
  done
  printf '%-62s %10.3g\n' "strategy null, ns" "$(median <"$tmp/null")"
  pair_rows
}

# speedup CASE STRATEGY BAR: throughput of two threads on two CPUs over that of one.
speedup() {
  local i one two
  if ((${#cpus[@]} < 2)); then
    printf '%-62s %10s %12s  n/a  (one CPU)\n' "$2, two threads over one" - ">= $3"
    return
  fi
  for ((i = 0; i < rounds; i++)); do
    if ! one=$(ns "$1" "$2" 1) || ! two=$(ns "$1" "$2" 2); then
      not_measured "$1 $2"
      return
    fi
    calc "$one / $two"
    echo
  done >"$tmp/speedups"
  row "$1 $2, two threads over one" "$(calc "$(median <"$tmp/speedups")")" ">=" "$3"
}

bench_scaling() {
  heading "throughput of two threads on two CPUs over one (median of $rounds pairs)"
  speedup "$pair" per-thread 1.8
  speedup "$pair" pooled-freelists 1.4
  speedup Compare/Pod/structured pooled-freelists 1.9
}

# One op of Go's implementation on one CPU of this class of machine, in us; half of it is the bar.
bench_compare() {
  local name go value
  heading "Compare under malloc, one thread, us/op (best of $best_of)"
  while read -r name go; do
    if value=$(best "$name" malloc 1); then
      value=$(calc "$value / 1000")
      row "$name" "$value" "<=" "$(calc "$go / 2")" "$(calc "$value / $go") of Go's $go us; aim 0.25"
    else
      not_measured "$name"
    fi
  done <<'GO'
Compare/Pod/structured 158
Compare/Pod/unstructured 230
Compare/Node/structured 315
Compare/Node/unstructured 385
Compare/Endpoints/structured 2864
Compare/Endpoints/unstructured 6223
GO
}

# With both CPUs busy all the time, ns/op must be the op's own CPU time / 2.
bench_accuracy() {
  local size i mean sd others
  heading "32 threads on ${#cpus[@]} CPUs: ns/op over cpu-ns/op / ${#cpus[@]}, less 1, in %"
  for size in 100us 1500us 6ms; do
    for ((i = 0; i < 10; i++)); do
      measure "$tmp/sample" Selftest/spin/"$size" malloc 32 || { not_measured "op of $size"; return; }
      calc "100 * ($(unit "$tmp/sample" ns/op) / ($(unit "$tmp/sample" cpu-ns/op) / ${#cpus[@]}) - 1)"
      echo " $(unit "$tmp/sample" foreign-cpu-%)"
    done >"$tmp/errors"
    read -r mean sd others < <(awk '{ s += $1; q += $1 * $1; if ($2 > most) most = $2 }
      END { m = s / NR; v = (q - NR * m * m) / (NR - 1)
        printf "%.3g %.3g %.2g", m < 0 ? -m : m, sqrt(v > 0 ? v : 0), most }' "$tmp/errors")
    row "op of $size of CPU time: mean error" "$mean" "<=" 1.5 "others had up to $others %"
    row "op of $size of CPU time: standard deviation" "$sd" "<=" 2
  done
}

# What timing single ops costs: both ways in turns, of each the least CPU time an op took.
bench_latency() {
  local name i timed untimed
  heading "price of timing single ops, in % of cpu-ns/op (one thread)"
  for name in Micro/pair/64B Compare/Pod/structured; do
    : >"$tmp/timed" && : >"$tmp/untimed"
    for ((i = 0; i < rounds; i++)); do
      measure "$tmp/sample" "$name" per-thread 1 || break
      unit "$tmp/sample" cpu-ns/op >>"$tmp/timed"
      switches=(--no-latency)
      measure "$tmp/sample" "$name" per-thread 1 || break
      unit "$tmp/sample" cpu-ns/op >>"$tmp/untimed"
      switches=()
    done
    switches=()
    if ((i < rounds)); then not_measured "$name"; continue; fi
    timed=$(sort -g "$tmp/timed" | head -n 1) untimed=$(sort -g "$tmp/untimed" | head -n 1)
    row "$name" "$(calc "100 * ($timed / $untimed - 1)")" "<=" 1
  done
}

# What a run spends its time on, by its own account.
bench_share() {
  local share
  heading "shares of a run's wall time, in %"
  if ! "$poolbench" run --cpus 32 --cases 'Compare/Pod/*' --strategies malloc,per-thread \
    --rounds 3 --sweep-rounds 0 --no-plots --out "$tmp/run" >"$tmp/why" 2>&1; then
    not_measured "poolbench run"
    return
  fi
  share=$(grep -o '"measured_share": *[0-9.e-]*' "$tmp/run/run.json" | grep -o '[0-9.e-]*$')
  row "measured parts" "$(calc "100 * $share")" ">=" 60
  share=$(grep -o '"warmup_share": *[0-9.e-]*' "$tmp/run/run.json" | grep -o '[0-9.e-]*$')
  row "warm-up" "$(calc "100 * $share")" "<=" 30
}

for part in ${PARTS:-empty pair scaling compare accuracy latency share}; do
  case $part in
    empty) bench_empty ;;
    pair) bench_pair ;;
    scaling) bench_scaling ;;
    compare) bench_compare ;;
    accuracy) bench_accuracy ;;
    latency) bench_latency ;;
    share) bench_share ;;
    *) echo "bench: no part $part; PARTS are empty pair scaling compare accuracy latency share" >&2; exit 2 ;;
  esac
done
exit $missed
