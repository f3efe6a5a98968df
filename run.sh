#!/usr/bin/env bash
# The front door: installs what is missing, builds, measures, compares, plots. Everything it does
# can be done by hand with make, build/poolbench and build/poolcmp; it owns no measuring and no
# statistics. Needs bash, coreutils, awk, sed and grep until the packages are there.
set -u

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
poolbench=$root/build/poolbench
poolcmp=$root/build/poolcmp

say() { printf '%s\n' "$*" >&2; }

# fail STATUS TEXT...: the text and the end.
fail() {
  local status=$1
  shift
  say "run.sh: $*"
  exit "$status"
}

usage() {
  cat <<'END'
usage: ./run.sh [run] OPTIONS     measure, compare, plot
       ./run.sh compare ARGS      compare files of samples (poolcmp)
       ./run.sh report RUN        tables and plots of a finished run again
       ./run.sh plot RUN          only its plots again
       ./run.sh list              strategies, cases, allocators, counters

  ./run.sh --cpus 32              32 threads, and fewer for the curves; at most 5 minutes
  ./run.sh --cpus 32 --quick      at most 40 seconds, decides less
  ./run.sh --cpus 8 --strategies malloc,per-thread --cases 'Compare/Pod/*'
  ./run.sh compare -col /strategy results/latest/samples.txt

Of run.sh itself:
  --against REF   build git revision REF of this checkout too and measure both in the same rounds
  --no-plots      leave the plots out
END
  if [[ -x $poolbench ]]; then
    printf '\nOf the measurement (build/poolbench run --help):\n'
    "$poolbench" run --help
  else
    printf '\nThe options of the measurement are shown here once it is built (make).\n'
  fi
}

# Children run beside a waiting shell, since bash defers traps while one is in the foreground.
# bash has commands that run beside it ignore Ctrl-C; run gives them back what this script began
# with. So it reaches the child through the terminal's process group; a signal sent to this script
# alone is passed on. Whoever was interrupted, nothing is started afterwards.
child=0 interrupted=0

# forward SIGNAL: to the child, as TERM when it has had its second to react to a Ctrl-C.
forward() {
  interrupted=1
  ((child)) || exit 130
  if [[ $1 == INT ]]; then
    local tenths
    for ((tenths = 0; tenths < 10; tenths++)); do
      kill -0 "$child" 2>/dev/null || return
      sleep 0.1
    done
  fi
  kill -TERM "$child" 2>/dev/null
}
[[ -e /dev/fd/0 ]] || exec </dev/null
trap 'forward INT' INT
trap 'forward TERM' TERM
trap 'forward HUP' HUP

# run COMMAND...: runs it with this script's stdin and returns its status; 130 when interrupted.
run() {
  local status
  (
    trap - INT QUIT
    exec "$@"
  ) <&0 &
  child=$!
  wait "$child"
  status=$?
  # A trap ends wait early: the child may still be writing its files.
  while kill -0 "$child" 2>/dev/null; do
    wait "$child"
    status=$?
  done
  child=0
  if ((interrupted)); then exit 130; fi
  return "$status"
}

# install_missing: only the packages without which nothing works can end this script.
install_missing() {
  run "$root/harness/deps.sh" ask build counters,plots || exit $?
}

# jobs: one compiler for each CPU this process may use.
jobs() { nproc 2>/dev/null || echo 1; }

# build DIR LOG: make's output is shown only when it fails.
build() {
  local dir=$1 log=$2
  if ! mkdir -p "${log%/*}" 2>/dev/null || ! : 2>/dev/null >"$log"; then
    fail 3 "cannot write $log: building needs a checkout of your own (what is built runs by itself: $poolbench run --help)"
  fi
  [[ -x $dir/build/poolbench ]] || say "building${3:+ $3} ..."
  # Not this script's environment of flags from an outer make.
  if ! run env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory -C "$dir" -j"$(jobs)" all >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    fail 3 "the build failed (all of its output: $log)"
  fi
}

prepare() {
  install_missing
  build "$root" "$root/build/make.log"
}

# build_revision REF: sets `revision` to a built poolbench of that revision.
build_revision() {
  local ref=$1 sha dir
  command -v git >/dev/null || fail 6 "--against needs git (apt-get install git)"
  git -C "$root" rev-parse --git-dir >/dev/null 2>&1 ||
    fail 2 "--against needs a git checkout, and $root is none"
  sha=$(git -C "$root" rev-parse --verify --quiet --end-of-options "$ref^{commit}") ||
    fail 2 "--against: no revision '$ref' in this checkout (a branch, tag or commit; git log shows them)"
  dir=$root/build/against/$sha
  if [[ ! -e $dir/.git ]]; then
    # A worktree whose folder make clean took away is still registered.
    git -C "$root" worktree prune
    git -C "$root" worktree add --quiet --detach --force "$dir" "$sha" >&2 ||
      fail 3 "--against: git could not put revision $sha into $dir"
  fi
  [[ -f $dir/Makefile ]] || fail 3 "--against: revision $ref has no Makefile to build poolbench with"
  build "$dir" "$root/build/against/$sha.log" "$ref (${sha:0:10})"
  revision=$dir/build/poolbench
}

# place ARGS...: sets `folder`, where the run's files are, and `placed`, the options that say so
# where poolbench would not by itself: from another folder than the checkout, its results/ is meant.
place() {
  folder='' placed=()
  local resume=no
  while (($#)); do
    case $1 in
    --out | -out) folder=${2-} ;;
    --out=* | -out=* | --resume=* | -resume=*) folder=${1#*=} ;;
    --resume | -resume)
      resume=yes
      # The folder behind --resume may be left out.
      [[ ${2-} == -* ]] || folder=${2-}
      ;;
    esac
    shift
  done
  [[ $folder != -* ]] || folder=./$folder
  [[ -z $folder ]] || return
  folder=results/latest
  [[ . -ef $root ]] && return
  folder=$root/results/latest
  if [[ $resume == yes ]]; then
    placed=("$folder")
  else
    folder=$root/results/$(date +%Y%m%d-%H%M%S)-$(uname -n)
    placed=(--out "$folder")
  fi
}

# link_latest: what poolbench does for a run that it places itself.
# shellcheck disable=SC2317 # called by the trap
link_latest() {
  [[ ${placed[0]-} == --out && -d $folder ]] || return
  ln -sfn "${folder##*/}" "$root/results/latest"
}

# measure ARGS...: the whole way from a plan to pictures.
measure() {
  local arguments=() plots=() against='' only_says=no status
  while (($#)); do
    case $1 in
    --against | -against)
      [[ -n ${2-} ]] || fail 2 "--against wants a git revision, as in --against main"
      against=$2
      shift
      ;;
    --against=* | -against=*) against=${1#*=} ;;
    --no-plots | -no-plots) plots=(--no-plots) ;;
    --help | -help | -h | --list | -list | --dry-run | -dry-run)
      only_says=yes
      arguments+=("$1")
      ;;
    *) arguments+=("$1") ;;
    esac
    shift
  done

  prepare
  if [[ -n $against ]]; then
    build_revision "$against"
    if [[ -n $(git -C "$root" status --porcelain --untracked-files=no) ]]; then
      say "note: the new arm is the checkout with its uncommitted changes"
    fi
    arguments+=(--arm "base=$revision" --arm "new=$poolbench")
  fi

  place "${arguments[@]}"
  # Also for a run that is interrupted: it can be compared and resumed.
  trap link_latest EXIT
  # What poolbench tells the user to go on with.
  local script=$0
  [[ $script == */* ]] || script=./$script
  POOLBENCH_STARTED_BY=$script run "$poolbench" run "${arguments[@]}" "${placed[@]}"
  status=$?
  [[ $only_says == no ]] || exit "$status"
  # 5: some samples failed, the rest can be compared.
  ((status == 0 || status == 5)) || exit "$status"
  link_latest
  run "$poolbench" report "${plots[@]}" "$folder" || exit $?
  exit "$status"
}

case ${1-} in
-h | --help | help) usage ;;
compare)
  shift
  prepare
  run "$poolcmp" "$@"
  ;;
report)
  shift
  prepare
  run "$poolbench" report "$@"
  ;;
plot)
  shift
  prepare
  run "$poolbench" report --plots-only "$@"
  ;;
list)
  shift
  prepare
  run "$poolbench" list "$@"
  ;;
run)
  shift
  measure "$@"
  ;;
'')
  usage >&2
  exit 2
  ;;
-*) measure "$@" ;;
*) fail 2 "no command '$1' (run, compare, report, plot, list; ./run.sh --help)" ;;
esac
