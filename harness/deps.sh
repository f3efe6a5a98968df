#!/usr/bin/env bash
# Says which Debian packages are missing and installs them. packages.txt is the list; bash,
# coreutils and awk are all it needs, so that it runs on a base system.
#
#   harness/deps.sh MODE REQUIRED [OPTIONAL]      REQUIRED, OPTIONAL: needs, as in build,tests
#     check     only say what is missing
#     ask       on a terminal show the line and ask once; else install as root, or print the line
#     install   install as root or by sudo, or print the line
#
# Exit status: 0 everything required is there, 6 it is not. A missing optional package costs its
# part (counters, plots ...) and is said in a line.
set -u

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
state=$root/build/deps # what was declined, and apt's output

say() { printf '%s\n' "$*" >&2; }

# provided PROBE: whether what the package brings is there.
provided() {
  local what=${1#*:} name
  case $1 in
  cmd:*)
    for name in ${what//,/ }; do command -v "$name" >/dev/null || return 1; done
    ;;
  pc:*) pkg-config --exists "$what" 2>/dev/null ;;
  so:*) PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | grep -q "^[[:space:]]*$what " ;;
  file:*) compgen -G "$what" >/dev/null ;;
  *)
    say "packages.txt: unknown probe '$1' (cmd:, pc:, so: or file:)"
    exit 3
    ;;
  esac
}

# missing NEEDS: the packages of these needs whose probe fails, one a line.
missing() {
  local package need probe
  [[ -n $1 ]] || return 0
  while read -r package need probe; do
    [[ ,$1, == *",$need,"* ]] || continue
    provided "$probe" || printf '%s\n' "$package"
  done < <(grep -v '^#' "$root/packages.txt")
}

# lost PACKAGE...: what one has to do without, in words.
lost() {
  local package need parts=
  while read -r package need _; do
    [[ " $* " == *" $package "* ]] || continue
    [[ $need == allocator ]] && need="$package"
    [[ ", $parts," == *", $need,"* ]] || parts+=${parts:+, }$need
  done < <(grep -v '^#' "$root/packages.txt")
  printf '%s' "$parts"
}

# The distribution's name and version.
distribution() {
  local name
  name=$(awk -F= '$1 == "PRETTY_NAME" {gsub(/"/, "", $2); print $2}' /etc/os-release 2>/dev/null)
  printf '%s' "${name:-This system}"
}

# apt NAME ARGUMENT...: apt-get with its output kept in a log and no questions asked. A lock held
# by another apt (unattended upgrades) is waited for.
apt() {
  local log=$state/apt-$1.log
  shift
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 "$@" \
    >"$log" 2>&1 </dev/null
}

# install PACKAGE...: one call to apt, since it is fast; if that fails, the required ones, and
# each optional one alone, so that one package that is not to be had costs only itself.
install() {
  mkdir -p "$state" || return 1
  say "installing: $*"
  apt update update || say "apt-get update failed (${state#"$root"/}/apt-update.log); trying with the lists that are there"
  apt install install -y --no-install-recommends "$@" && return 0
  if ((${#required[@]})) && ! apt install install -y --no-install-recommends "${required[@]}"; then
    tail -n 15 "$state/apt-install.log" >&2
    return 1
  fi
  local package
  for package in "${optional[@]}"; do
    apt "$package" install -y --no-install-recommends "$package" ||
      say "not installed: $package ($(grep -m1 '^E:' "$state/apt-$package.log" || echo 'see its log in build/deps'))"
  done
}

# confirmed: one question on the terminal; anything but yes or Enter is no.
confirmed() {
  local answer
  read -r -p "Install these now? [Y/n] " answer || return 1
  [[ $answer == "" || $answer == [yY] || $answer == [yY][eE][sS] ]]
}

# how: by whom apt can be called: root, sudo, or nobody. Without a terminal sudo must not ask for a
# password, it would hang.
how() {
  if [[ $EUID -eq 0 ]]; then
    echo root
  elif ! command -v sudo >/dev/null; then
    echo nobody
  elif [[ -t 0 ]] || sudo -n true 2>/dev/null; then
    echo sudo
  else
    echo nobody
  fi
}

# may_install MODE: decides, and says the line where it is the user's turn.
may_install() {
  local by sudo='' line
  by=$(how)
  [[ $EUID -eq 0 ]] || ! command -v sudo >/dev/null || sudo='sudo '
  line="${sudo}apt-get update && ${sudo}apt-get install -y --no-install-recommends ${wanted[*]}"
  if [[ $1 == ask && -t 0 && -t 2 && $by != nobody ]]; then
    # Optional packages that were declined once are not asked for again (make clean forgets).
    ((${#required[@]} == 0)) && [[ -f $state/declined && "$(<"$state/declined")" == "${optional[*]}" ]] &&
      return 1
    say "Packages are missing:"
    say "    $line"
    confirmed && return 0
    mkdir -p "$state" && printf '%s\n' "${optional[*]-}" >"$state/declined"
    return 1
  fi
  [[ $1 != check && $by == root ]] && return 0
  [[ $1 == install && $by == sudo ]] && return 0
  say "Packages are missing. This installs them${sudo:+ (sudo or root)}:"
  say "    $line"
  return 1
}

# survey: what is missing now.
survey() {
  mapfile -t required < <(missing "$need_required")
  mapfile -t optional < <(missing "$need_optional")
  wanted=("${required[@]}" "${optional[@]}")
}

# leave: only missing required packages are a failure.
leave() {
  ((${#required[@]} == 0)) || exit 6
  ((${#optional[@]} == 0)) || say "going on without: $(lost "${optional[@]}")"
  exit 0
}

mode=${1-} need_required=${2-} need_optional=${3-}
case $mode in
check | ask | install) ;;
*)
  sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac

survey
((${#wanted[@]})) || exit 0
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  say "$(distribution) has no apt. Missing, by their names in Debian 12:"
  printf '    %s\n' "${wanted[@]}" >&2
  leave
fi
may_install "$mode" || leave

as_root=()
[[ $EUID -eq 0 ]] || as_root=(sudo)
install "${wanted[@]}" || say "apt-get could not install them; its output: build/deps/apt-install.log"
survey
((${#required[@]} == 0)) || say "still missing: ${required[*]}"
leave
