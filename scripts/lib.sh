# Shared functions of the scripts: paths, messages, and processes that are started and stopped by pid.
# shellcheck shell=bash
# Sourced, not run. Every caller sets `set -euo pipefail` first.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# The cache is shared by all clones (images, binaries); `state` contains the pid files and logs of running processes.
cache=${WINDLASS_CACHE:-$HOME/.cache/windlass}
state=$cache/run
export root cache state
mkdir -p "$cache" "$state"

say() { printf '%s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# need_command NAME SENTENCE: exits with the sentence if the command is not installed.
need_command() { command -v "$1" >/dev/null 2>&1 || die "$2"; }

# need_packages NAME...: installs the missing Debian packages. Prints nothing if all are installed.
need_packages() {
  local missing=() name
  for name in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || missing+=("$name")
  done
  ((${#missing[@]} > 0)) || return 0
  command -v apt-get >/dev/null 2>&1 || die "this machine has no apt-get: install ${missing[*]} by hand and run this again"
  ((EUID == 0)) || die "installing ${missing[*]} needs root: run this as root, or install them first"
  say "installing from Debian: ${missing[*]}"
  # Runlevel 1 prevents a package from starting its service, because these scripts start and stop the processes.
  local install=(env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "${missing[@]}")
  "${install[@]}" >"$state/apt.log" 2>&1 </dev/null && return
  apt-get -qq -o DPkg::Lock::Timeout=600 update >>"$state/apt.log" 2>&1 </dev/null || true
  "${install[@]}" >>"$state/apt.log" 2>&1 </dev/null && return
  tail -n 5 "$state/apt.log" >&2
  die "apt-get could not install ${missing[*]}; see $state/apt.log for the complete output"
}

# digest PATH...: prints 16 hex digits of a hash of the names and bytes of all files below the paths (relative to the current folder). The path `-`
# reads stdin.
digest() {
  local path
  for path in "$@"; do
    if [[ $path == - ]]; then cat; else find "$path" -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum; fi
  done | sha256sum | cut -c1-16
}

# started_at PID: prints the kernel's start time of a process. It detects a pid that was reused by another process.
started_at() { [[ -r /proc/$1/stat ]] && sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# is_running NAME: succeeds if the process that start_background started under this name is alive.
is_running() {
  local pid time
  [[ -f $state/$1.pid ]] && read -r pid time <"$state/$1.pid" && [[ -n $pid && $(started_at "$pid") == "$time" ]]
}

# start_background NAME COMMAND...: starts a daemon in its own session. Log: $state/NAME.log; pid: $state/NAME.pid.
start_background() {
  local name=$1
  shift
  # Closes the locks of the caller, because the daemon would hold an inherited lock for its whole life.
  (
    for fd in /proc/self/fd/*; do fd=${fd##*/}; ((fd > 2)) && eval "exec $fd>&-"; done 2>/dev/null
    exec setsid "$@" >"$state/$name.log" 2>&1 </dev/null
  ) &
  local pid=$!
  printf '%s %s\n' "$pid" "$(started_at "$pid")" >"$state/$name.pid"
  disown "$pid" 2>/dev/null || true
}

# stop_background NAME [SECONDS]: sends TERM, then KILL after the given time (default 10). Safe to call twice.
stop_background() {
  local name=$1 seconds=${2:-10} pid time
  if is_running "$name"; then
    read -r pid time <"$state/$name.pid"
    kill "$pid" 2>/dev/null || true
    if ! wait_until "$seconds" not_running "$name"; then kill -9 "$pid" 2>/dev/null || true; fi
  fi
  rm -f "$state/$name.pid"
}
not_running() { ! is_running "$1"; }

# wait_until SECONDS COMMAND...: runs the command every 50 ms until it succeeds. Fails after the timeout.
wait_until() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep .05
  done
}

# show_log NAME: prints the last lines of the log of a background process, for an error message.
show_log() { [[ ! -f $state/$1.log ]] || tail -n 15 "$state/$1.log" >&2; }

# locked NAME COMMAND...: runs the command under a lock of this machine that all clones share.
locked() {
  local name=$1 lock
  shift
  exec {lock}>"$state/$name.lock"
  flock "$lock"
  "$@"
  exec {lock}>&-
}

# The linker omits debug information anyway; a compiler that does not write it takes a fifteenth less time.
go_flags=(-trimpath -mod=readonly '-gcflags=all=-dwarf=false')

# Programs compiled from the Go module scripts/MODULE. The cache folder stores them by the hash of go.mod and go.sum.
go_tools_key() { (cd "$root/scripts/$1" && digest go.mod go.sum); } # MODULE
compile_go_tools() { # MODULE SENTENCE PACKAGE...: prints the folder
  local module=$1 sentence=$2 bin name missing=()
  shift 2
  bin=$cache/go-tools/$module-$(go_tools_key "$module")
  for name in "$@"; do [[ -x $bin/${name##*/} ]] || missing+=("$name"); done
  printf '%s\n' "$bin"
  ((${#missing[@]} > 0)) || return 0
  need_command go "Go is not installed: $module is compiled from its Go module, install Go 1.24 or newer"
  say "$sentence"
  mkdir -p "$bin.part" "$bin"
  (cd "$root/scripts/$module" && CGO_ENABLED=0 nice -n 10 go build "${go_flags[@]}" -ldflags '-s -w' -o "$bin.part/" "${missing[@]}") \
    >"$state/go-tools-$module.log" 2>&1 ||
    { tail -n 15 "$state/go-tools-$module.log" >&2; die "$module cannot be compiled; see $state/go-tools-$module.log for the complete output"; }
  mv "$bin.part"/* "$bin/"
  rmdir "$bin.part"
}
