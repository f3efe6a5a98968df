#!/usr/bin/env bash
# The price of timing states (docs/contention.md), as the ratio of samples with and without it.
#   harness/bench-states.sh [BUILD]      (make bench-states)
#   ROUNDS=7 CASES="..." STRATEGIES="..." THREADS="1 2 32": what to measure, how often
# Both sides take turns, each in a process of its own; the ratio is the median over the rounds, of
# ns/op and of CPU time, which others on the machine disturb less. Exits 1 when one is above the
# bar, 2 when there is no poolbench.
set -uo pipefail
export LC_ALL=C

build=${1:-build}
poolbench=$build/poolbench
rounds=${ROUNDS:-7}
window=${WINDOW:-200000000}
read -ra cases <<<"${CASES:-Compare/Pod/structured Compare/Pod/unstructured Compare/Endpoints/structured}"
read -ra strategies <<<"${STRATEGIES:-malloc global-locked per-thread pooled-freelists}"
read -ra threads <<<"${THREADS:-1 2 32}"
bar=1.03
[[ -x $poolbench ]] || { echo "bench-states: no $poolbench; run make first" >&2; exit 2; }
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT

mapfile -t cpus < <(awk '/^Cpus_allowed_list:/ { n = split($2, parts, ",")
  for (i = 1; i <= n; i++) { m = split(parts[i], ends, "-")
    for (cpu = ends[1]; cpu <= ends[m]; cpu++) print cpu } }' /proc/self/status | head -n 2)

# measure CASE STRATEGY THREADS [--no-states]: prints ns/op and CPU ns/op.
measure() {
  local map="" i
  for ((i = 0; i < $3; i++)); do map+=${map:+,}${cpus[i % ${#cpus[@]}]}; done
  "$poolbench" worker --case "$1" --strategy "$2" --threads "$3" --cpu-map "$map" \
    --window "$window" --limit 60000000000 --counters "" ${4:+"$4"} 2>/dev/null |
    awk '$1 == "unit" && $3 == "ns/op" { ns = $2 } $1 == "unit" && $3 == "cpu-ns/op" { cpu = $2 }
      END { if (ns == "") exit 1; print ns, cpu }'
}

median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.3f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

missed=0
printf '%-28s %-18s %7s %9s %9s   %s\n' case strategy threads ns/op CPU "bar $bar"
for name in "${cases[@]}"; do
  for strategy in "${strategies[@]}"; do
    for n in "${threads[@]}"; do
      : >"$tmp/ns"; : >"$tmp/cpu"
      for ((round = 0; round < rounds; round++)); do
        # Who goes first changes, so that drift hits both.
        if ((round % 2)); then
          on=$(measure "$name" "$strategy" "$n") && off=$(measure "$name" "$strategy" "$n" --no-states)
        else
          off=$(measure "$name" "$strategy" "$n" --no-states) && on=$(measure "$name" "$strategy" "$n")
        fi || { echo "bench-states: a sample of $name, $strategy failed" >&2; exit 2; }
        awk -v on="$on" -v off="$off" -v ns="$tmp/ns" -v cpu="$tmp/cpu" 'BEGIN {
          split(on, a, " "); split(off, b, " ")
          print a[1] / b[1] >>ns; print a[2] / b[2] >>cpu }'
      done
      ns=$(median <"$tmp/ns") cpu=$(median <"$tmp/cpu") verdict=ok
      awk "BEGIN { exit !($cpu <= $bar) }" || verdict=MISSED missed=1
      printf '%-28s %-18s %7s %9s %9s   %s\n' "$name" "$strategy" "$n" "$ns" "$cpu" "$verdict"
    done
  done
done
exit $missed
