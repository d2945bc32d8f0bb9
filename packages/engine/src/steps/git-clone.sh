# Brings a repository to a revision: a fresh clone, or an update of the clone that an earlier build left.
# Settings come as environment variables, secrets as a tar archive on standard input, which is unpacked to memory.
# Standard output: branch or tag, commit, author and message, each ended by a NUL. Everything else goes to standard error.
# Exit codes: 10 not allowed, 11 no such repository, 12 no such revision, 13 the network failed, 1 anything else.
fetch() {
  local options=(--quiet --prune --force --no-write-fetch-head)
  [[ -n $DEPTH ]] && options+=("--depth=$DEPTH")
  [[ $EXCLUDE_BLOBS == true ]] && options+=(--filter=blob:none)
  [[ -z $DEPTH && $(git rev-parse --is-shallow-repository) == true ]] && options+=(--unshallow)
  if [[ -z $DEPTH ]]; then
    if [[ $1 == update && $SKIP_TAGS == true ]]; then options+=(--no-tags); else options+=(--tags); fi
    remotely git fetch "${options[@]}" origin '+refs/heads/*:refs/remotes/origin/*'
  else
    local ref
    ref=$(shallow_ref) || return
    remotely git fetch "${options[@]}" --no-tags origin "$ref"
  fi
}

has_ref() { awk -v ref="$2" '$2 == ref { found = 1 } END { exit !found }' "$1"; }

# With a depth only one ref is fetched, so it has to be known before.
shallow_ref() {
  local list=/run/windlass/refs name
  remotely git ls-remote --symref origin >"$list" 2>&1 || { local code=$?; cat "$list" >&2; return "$code"; }
  if [[ -z $REVISION ]]; then
    name=$(sed -n 's|^ref: refs/heads/\(.*\)\tHEAD$|\1|p' "$list")
    echo "+refs/heads/$name:refs/remotes/origin/$name"
  elif has_ref "$list" "refs/heads/$REVISION"; then
    echo "+refs/heads/$REVISION:refs/remotes/origin/$REVISION"
  elif has_ref "$list" "refs/tags/$REVISION"; then
    echo "+refs/tags/$REVISION:refs/tags/$REVISION"
  else
    echo "$REVISION"
  fi
}

# Sets `name` to the branch or tag, if any.
checkout() {
  name=
  if [[ -z $REVISION ]]; then
    [[ -n $(git symbolic-ref -q refs/remotes/origin/HEAD) && -n $DEPTH ]] || remotely git remote set-head origin --auto >/dev/null
    name=$(git symbolic-ref --short refs/remotes/origin/HEAD 2>/dev/null) || name=$(git for-each-ref --count=1 --format='%(refname:short)' refs/remotes/origin)
    name=${name#origin/}
    git checkout --quiet --force -B "$name" "refs/remotes/origin/$name"
  elif git rev-parse --quiet --verify "refs/remotes/origin/$REVISION^{commit}" >/dev/null; then
    name=$REVISION
    git checkout --quiet --force -B "$REVISION" "refs/remotes/origin/$REVISION"
  elif git rev-parse --quiet --verify "refs/tags/$REVISION^{commit}" >/dev/null; then
    name=$REVISION
    git checkout --quiet --force --detach "refs/tags/$REVISION"
  elif [[ $REVISION =~ ^[0-9a-fA-F]{7,64}$ ]]; then
    git cat-file -e "$REVISION^{commit}" 2>/dev/null || remotely git fetch --quiet ${DEPTH:+"--depth=$DEPTH"} origin "$REVISION" || return
    git checkout --quiet --force --detach "$REVISION"
  else
    echo "There is no branch, tag or commit '$REVISION'."
    return 12
  fi
}

fresh() {
  rm -rf "$1"
  mkdir -p "$1" && cd "$1" || return 1
  git init --quiet && git remote add origin "$REPO" || return 1
  fetch new && checkout
}

update() {
  cd "$1" || return 1
  local partial=false
  git config --get remote.origin.promisor >/dev/null && partial=true
  [[ $partial == "$EXCLUDE_BLOBS" ]] || return 1
  # What a killed git leaves behind.
  find .git -name '*.lock' -type f -exec rm -f {} +
  rm -rf .git/rebase-apply .git/rebase-merge .git/MERGE_HEAD .git/CHERRY_PICK_HEAD .git/REVERT_HEAD
  git remote set-url origin "$REPO" && fetch update && checkout && git clean --quiet -fd
}

if [[ -e $DIRECTORY/.git ]]; then
  echo "Updating the clone in $DIRECTORY."
  # A subshell: the way back must not depend on where an update stopped.
  (update "$DIRECTORY")
  code=$?
  # What the other side says, it says to a fresh clone too.
  [[ $code -lt 10 || $code -gt 13 ]] || exit "$code"
else
  code=1
fi
if [[ $code != 0 ]]; then
  echo "Cloning $REPO."
  (fresh "$DIRECTORY.windlass-new") || { code=$?; rm -rf "$DIRECTORY.windlass-new"; exit "$code"; }
  rm -rf "$DIRECTORY" && mv "$DIRECTORY.windlass-new" "$DIRECTORY" || exit 1
fi

cd "$DIRECTORY" || exit 1
name=$(git symbolic-ref --quiet --short HEAD) || name=
[[ -z $name && -n $REVISION ]] && git rev-parse --quiet --verify "refs/tags/$REVISION" >/dev/null && name=$REVISION
git log -1 --format='%h %an: %s'
printf '%s\0' "$name" >&3
git log -1 --format='%H%x00%an%x00%B%x00' >&3
