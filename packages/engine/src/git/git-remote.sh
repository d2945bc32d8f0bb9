# Preamble of all scripts that contact a git server: unpacks secrets to a tmpfs, configures git, and classifies failures.
# Exit codes: 10 access denied, 11 no such repository, 12 no such revision, 13 network failure, 16 a symbolic link in the path, 1 other.
set -uo pipefail
exec 3>&1 1>&2
umask 022
tar -xf - -C /run/windlass || exit 1
export HOME=/run/windlass GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_ALLOW_PROTOCOL=http:https:ssh:file
export GIT_SSH_COMMAND="ssh -F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=/run/windlass/known_hosts -o ConnectTimeout=20"
[[ -f /run/windlass/key ]] && GIT_SSH_COMMAND+=" -i /run/windlass/key"
output=/run/windlass/output
# Repositories in folders are served by a program that is part of git.
mkdir -p /run/windlass/bin && ln -sf "$(command -v git)" /run/windlass/bin/git-upload-pack
PATH+=:/run/windlass/bin

# Fails if a path contains a link, which could lead out of the shared volume.
is_direct() {
  local path=${1%/}
  while [[ $path == /?* ]]; do
    [[ ! -L $path ]] || return 1
    path=${path%/*}
  done
}

# Classifies the failure of a git command by its output.
classify() {
  case $(<"$output") in
    *'Authentication failed'* | *'could not read Username'* | *'Permission denied'* | *'Host key verification failed'* | *'error: 403'*) return 10 ;;
    *'epository not found'* | *"not found"* | *'does not appear to be a git repository'* | *'does not exist'*) return 11 ;;
    *"couldn't find remote ref"* | *'not our ref'* | *'no such remote ref'*) return 12 ;;
    *'Could not resolve host'* | *'ailed to connect'* | *"Couldn't connect"* | *'Connection '* | *'timed out'* | *'Timeout'* | *'early EOF'* | \
      *'RPC failed'* | *'unexpected disconnect'* | *'returned error: 5'* | *'Empty reply'* | *'hung up'* | *'SSL'* | *'TLS'*) return 13 ;;
    *) return 1 ;;
  esac
}

# Runs a git command that contacts the remote. Retries network failures.
with_retries() {
  local try code
  for try in 1 2 3; do
    # The output is shown and stored. A pipe would lose its last line if the shell continues too early.
    if "$@" 2>"$output"; then cat "$output"; return 0; fi
    cat "$output"
    classify
    code=$?
    [[ $code == 13 && $try -lt 3 ]] || return "$code"
    sleep "$((try * 2)).$((RANDOM % 1000))"
    echo "Network failure, trying again (attempt $((try + 1)) of 3)."
  done
}
