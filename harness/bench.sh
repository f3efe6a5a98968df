#!/usr/bin/env bash
# The figures that poolbench must reach, measured and judged.
#   harness/bench.sh [BUILD]      (make bench)
#   PARTS="empty pair pools scaling compare accuracy share" ROUNDS=7: what, how often
#   PARTS=price ROUNDS=201 WINDOW=60000000 (make bench-price)
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
price_window=${WINDOW:-60000000}
libraries=${LIBRARIES:-/usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib /usr/local/lib}
[[ -x $poolbench ]] || { echo "bench: no $poolbench; run make first" >&2; exit 2; }
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
missed=0

# shellcheck source=harness/bench-lib.sh
. "${BASH_SOURCE%/*}/bench-lib.sh"

# ---- figures ----

bench_empty() {
  local threads value
  heading "cost of the harness, ns a thread"
  for threads in 1 2; do
    if value=$(best ns Selftest/empty malloc "$threads"); then
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

# ratio_of FILE FILE: the median of the ratios of two files, line by line.
ratio_of() { paste "$1" "$2" | awk '{ print $1 / $2 }' | median; }

# What a pool is like when objects are lost: the price of a search of all shards.
starved_rows() {
  local n i
  for ((i = 0; i < rounds; i++)); do
    for n in 1 2 32 128; do
      cpu_ns Micro/starved/1of4 "sync-pool:shards=$n" 1 >>"$tmp/starved-$n" || return 1
      unit "$tmp/sample" scans/op >"$tmp/scans-$n"
      switches=(--trim-ns 5000000)
      cpu_ns Micro/starved/1of4 "sync-pool:shards=$n" 1 >/dev/null || return 1
      unit "$tmp/sample" scans/op >"$tmp/scans-victims-$n"
      switches=()
    done
    for n in 1 128; do
      cpu_ns Micro/starved/0of4 "sync-pool:shards=$n" 1 >>"$tmp/fed-$n" || return 1
    done
  done
  for n in 1 2 32 128; do
    printf '%-62s %10.3g\n' "sync-pool, one of four lost, $n shard(s): CPU ns a get" \
      "$(median <"$tmp/starved-$n")"
    row "  scans a get over 0.25 x shards" "$(calc "$(cat "$tmp/scans-$n") / $n / 0.25")" "<=" 1.01
    row "  the same with victims" "$(calc "$(cat "$tmp/scans-victims-$n") / $n / 0.25")" "<=" 2.02
  done
  row "one of four lost, 32 shards over 1" \
    "$(calc "$(ratio_of "$tmp/starved-32" "$tmp/starved-1")")" ">=" 1.7
  row "one of four lost, 128 shards over 1" \
    "$(calc "$(ratio_of "$tmp/starved-128" "$tmp/starved-1")")" ">=" 4
  row "none lost, 128 shards over 1" "$(calc "$(ratio_of "$tmp/fed-128" "$tmp/fed-1")")" "<=" 1.1
}

bench_pools() {
  local value threads name
  heading "sync-pool and hand-over, CPU ns a pair or get (best of $best_of)"
  for threads in 1 2 32; do
    if value=$(best cpu_ns "$pair" sync-pool "$threads"); then
      row "$pair sync-pool, $threads thread(s)" "$(calc "$value")" "<=" 6
    else
      not_measured "$pair sync-pool, $threads thread(s)"
    fi
  done
  if value=$(best cpu_ns Micro/depth64 sync-pool 1); then
    row "Micro/depth64 sync-pool" "$(calc "$value")" "<=" 14
  else
    not_measured "Micro/depth64 sync-pool"
  fi
  for name in per-thread pooled-freelists sync-pool global-locked malloc; do
    best cpu_ns Micro/handoff/64B "$name" 2 && echo "$name"
  done | paste - - | sort -g >"$tmp/handoff"
  awk '{ printf "%-62s %10.3g\n", "Micro/handoff/64B " $2 ", 2 threads", $1 }' "$tmp/handoff"
  row "Micro/handoff/64B, the best of them" "$(calc "$(awk '{ print $1; exit }' "$tmp/handoff")")" "<=" 29
  starved_rows || not_measured "Micro/starved"
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
    if value=$(best ns "$name" malloc 1); then
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

# price_pairs SWITCH CASE STRATEGY THREADS: a line a round, CPU ns/op without the switch over with
# it. Who goes first changes, so that drift hits both.
price_pairs() {
  local switch=$1 i with without
  shift
  for ((i = 0; i < rounds; i++)); do
    if ((i % 2)); then with=$(cpu_ns "$@") || return 1; fi
    switches=("$switch")
    without=$(cpu_ns "$@") || return 1
    switches=()
    if ((i % 2 == 0)); then with=$(cpu_ns "$@") || return 1; fi
    awk "BEGIN { print $with / $without }"
  done
}

# price_rows TEXT SWITCH BAR CELL...: CELL is CASE:STRATEGY:THREADS. On a shared host a pair of
# samples differs by tens of percent: only many rounds tell one. The interval is the median's from
# order statistics (normal approximation of their ranks).
price_rows() {
  local text=$1 switch=$2 bar=$3 cell name strategy threads value low high verdict
  shift 3
  window=$price_window
  printf '\n%-42s %8s %18s %10s\n' "$text, with/without" median "95 % interval" "<= $bar"
  for cell; do
    IFS=: read -r name strategy threads <<<"$cell"
    if ! price_pairs "$switch" "$name" "$strategy" "$threads" >"$tmp/ratios"; then
      not_measured "$name $strategy"
      continue
    fi
    # The ends are computed before: some awks take the > of a printf for a redirection.
    read -r value low high < <(sort -g "$tmp/ratios" | awk '{ v[NR] = $1 } END {
      d = 0.98 * sqrt(NR); l = int((NR + 1) / 2 - d); h = NR + 1 - l
      if (l < 1) l = 1
      if (h > NR) h = NR
      printf "%.3f %.3f %.3f", v[int((NR + 1) / 2)], v[l], v[h] }')
    verdict=undecided
    if awk "BEGIN { exit !($high <= $bar) }"; then verdict=ok; fi
    if awk "BEGIN { exit !($low > $bar) }"; then verdict=MISSED missed=1; fi
    printf '%-42s %8s %18s %10s\n' "$name $strategy $threads" "$value" "$low .. $high" "$verdict"
  done
}

bench_price() {
  price_rows "CPU time, states" --no-states 1.03 Compare/Pod/structured:malloc:1 \
    Compare/Pod/unstructured:malloc:1 Compare/Endpoints/structured:malloc:1 \
    Compare/Pod/structured:pooled-freelists:1 Compare/Pod/structured:global-locked:2
  price_rows "CPU time, single ops" --no-latency 1.01 Micro/pair/64B:per-thread:1 \
    Compare/Pod/structured:per-thread:1
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

for part in ${PARTS:-empty pair pools scaling compare accuracy share}; do
  case $part in
    empty) bench_empty ;;
    pair) bench_pair ;;
    pools) bench_pools ;;
    scaling) bench_scaling ;;
    compare) bench_compare ;;
    accuracy) bench_accuracy ;;
    price) bench_price ;;
    share) bench_share ;;
    *) echo "bench: no part $part; PARTS are empty pair pools scaling compare accuracy price share" >&2; exit 2 ;;
  esac
done
exit $missed
