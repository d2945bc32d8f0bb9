# What every script begins with that talks to a git server: secrets unpacked to memory, git set up, failures judged.
# Exit codes: 10 not allowed, 11 no such repository, 12 no such revision, 13 the network failed, 1 anything else.
set -uo pipefail
exec 3>&1 1>&2
umask 022
tar -xf - -C /run/windlass || exit 1
export HOME=/run/windlass GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_ALLOW_PROTOCOL=http:https:ssh:file
export GIT_SSH_COMMAND="ssh -F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=/run/windlass/known_hosts -o ConnectTimeout=20"
[[ -f /run/windlass/key ]] && GIT_SSH_COMMAND+=" -i /run/windlass/key"
said=/run/windlass/said
# Repositories in folders are served by a program that is part of git itself.
mkdir -p /run/windlass/bin && ln -sf "$(command -v git)" /run/windlass/bin/git-upload-pack
PATH+=:/run/windlass/bin

# Why a git command failed, from what it said.
judge() {
  case $(<"$said") in
    *'Authentication failed'* | *'could not read Username'* | *'Permission denied'* | *'Host key verification failed'* | *'error: 403'*) return 10 ;;
    *'epository not found'* | *"not found"* | *'does not appear to be a git repository'* | *'does not exist'*) return 11 ;;
    *"couldn't find remote ref"* | *'not our ref'* | *'no such remote ref'*) return 12 ;;
    *'Could not resolve host'* | *'ailed to connect'* | *"Couldn't connect"* | *'Connection '* | *'timed out'* | *'Timeout'* | *'early EOF'* | \
      *'RPC failed'* | *'unexpected disconnect'* | *'returned error: 5'* | *'Empty reply'* | *'hung up'* | *'SSL'* | *'TLS'*) return 13 ;;
    *) return 1 ;;
  esac
}

# Runs a git command that talks to the other side; tries again when the network failed.
remotely() {
  local try code
  for try in 1 2 3; do
    # The message is shown and kept; a pipe would lose its last line when the shell goes on too early.
    if "$@" 2>"$said"; then cat "$said"; return 0; fi
    cat "$said"
    judge
    code=$?
    [[ $code == 13 && $try -lt 3 ]] || return "$code"
    sleep "$((try * 2)).$((RANDOM % 1000))"
    echo "The network failed; trying again ($((try + 1)) of 3)."
  done
}
