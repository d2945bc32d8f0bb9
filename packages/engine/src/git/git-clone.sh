# Checks out a repository at a revision: a fresh clone, or an update of the clone of an earlier build.
# Settings are environment variables. Secrets arrive as a tar archive on standard input, which is unpacked to a tmpfs.
# Standard output: branch or tag, commit, author and message, each terminated by a NUL. Everything else goes to standard error.
# Exit codes: 10 access denied, 11 no such repository, 12 no such revision, 13 network failure, 16 a symbolic link in the path, 1 other.
#
# Steps write to the shared volume, and git runs programs from a repository's configuration (hooks, core.fsmonitor, filters, core.sshCommand).
# Therefore git works here with a separate repository folder outside of the volume. From an existing clone only data is taken: objects, refs, the list
# of shallow commits and the index. The folder `.git` of the clone is rewritten at the end.
fetch() {
  local options=(--quiet --prune --force --no-write-fetch-head --no-recurse-submodules)
  [[ -n $DEPTH ]] && options+=("--depth=$DEPTH")
  [[ $EXCLUDE_BLOBS == true ]] && options+=(--filter=blob:none)
  [[ -z $DEPTH && $(git rev-parse --is-shallow-repository) == true ]] && options+=(--unshallow)
  if [[ -z $DEPTH ]]; then
    if [[ $1 == update && $SKIP_TAGS == true ]]; then options+=(--no-tags); else options+=(--tags); fi
    with_retries git fetch "${options[@]}" origin '+refs/heads/*:refs/remotes/origin/*'
  else
    local ref
    ref=$(shallow_ref) || return
    with_retries git fetch "${options[@]}" --no-tags --end-of-options origin "$ref"
  fi
}

has_ref() { awk -v ref="$2" '$2 == ref { found = 1 } END { exit !found }' "$1"; }

# With a depth only one ref is fetched, so it must be determined first.
shallow_ref() {
  local list=/run/windlass/refs name
  with_retries git ls-remote --symref origin >"$list" 2>&1 || { local code=$?; cat "$list" >&2; return "$code"; }
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
    [[ -n $(git symbolic-ref -q refs/remotes/origin/HEAD) && -n $DEPTH ]] || with_retries git remote set-head origin --auto >/dev/null
    name=$(git symbolic-ref --short refs/remotes/origin/HEAD 2>/dev/null) || name=$(git for-each-ref --count=1 --format='%(refname:short)' refs/remotes/origin)
    name=${name#origin/}
    git checkout --quiet --force -B "$name" "refs/remotes/origin/$name"
  elif git rev-parse --quiet --verify "refs/remotes/origin/$REVISION^{commit}" >/dev/null; then
    name=$REVISION
    git checkout --quiet --force -B "$REVISION" "refs/remotes/origin/$REVISION"
  elif git rev-parse --quiet --verify "refs/tags/$REVISION^{commit}" >/dev/null; then
    name=$REVISION
    git checkout --quiet --force --detach "refs/tags/$REVISION"
  elif [[ $REVISION == refs/* ]]; then
    # The forge keeps pull requests under such names. They are not part of the fetched branches.
    with_retries git fetch --quiet ${DEPTH:+"--depth=$DEPTH"} --end-of-options origin "+$REVISION:refs/windlass/revision" || return
    git checkout --quiet --force --detach refs/windlass/revision
  elif [[ $REVISION =~ ^[0-9a-fA-F]{7,64}$ ]]; then
    git cat-file -e "$REVISION^{commit}" 2>/dev/null || with_retries git fetch --quiet ${DEPTH:+"--depth=$DEPTH"} origin "$REVISION" || return
    git checkout --quiet --force --detach "$REVISION"
  else
    echo "There is no branch, tag or commit '$REVISION'."
    return 12
  fi
}

# Creates a repository folder with a clean configuration for the work tree $1. Its objects are in the work tree's `.git/objects`.
open_repository() {
  rm -rf "$GIT_DIR"
  export GIT_WORK_TREE=$1 GIT_OBJECT_DIRECTORY=$1/.git/objects
  mkdir -p "$GIT_OBJECT_DIRECTORY" && cd "$1" && git init --quiet || return 1
  git config --unset core.worktree
  git remote add origin "$REPO" || return 1
  if [[ $EXCLUDE_BLOBS == true ]]; then
    git config remote.origin.promisor true && git config remote.origin.partialclonefilter blob:none
  fi
}

# Rewrites `.git` of the work tree $1. Keeps the repositories of its submodules and its large files.
close_repository() {
  local old=$1/.git new=$1/.git.windlass-new part
  rm -rf "$new" && mkdir "$new" || return 1
  for part in objects modules lfs; do
    if [[ -d $old/$part && ! -L $old/$part ]]; then mv "$old/$part" "$new/$part" || return 1; fi
  done
  cp -R --no-dereference "$GIT_DIR/." "$new/" && rm -rf "$old" && mv "$new" "$old"
}

fresh() {
  rm -rf "$1"
  mkdir -p "$1" && open_repository "$1" && fetch new && checkout && close_repository "$1"
}

# Copies refs, shallow commits and the index of the clone $1. Skips links, whose targets do not belong to the clone.
take_over() {
  local old=$1/.git part
  # Written only by git, but read as folder names (alternates).
  rm -rf "$old/objects/info"
  # Left by a killed git.
  find "$old/objects" -name '*.lock' -type f -exec rm -f {} +
  for part in packed-refs refs/heads refs/remotes refs/tags shallow index; do
    if [[ -e $old/$part && ! -L $old/$part ]]; then
      rm -rf "${GIT_DIR:?}/$part" && cp -R --no-dereference "$old/$part" "$GIT_DIR/$part" || return 1
    fi
  done
  find "$GIT_DIR/refs" \( -type l -o -name '*.lock' \) -exec rm -f {} +
  # Tags come only from the remote, unless tags are not fetched.
  [[ $SKIP_TAGS == true ]] || git for-each-ref --format='delete %(refname)' refs/tags | git update-ref --stdin || return 1
  # An index with entries marked as unchanged would hide changes.
  if [[ -f $GIT_DIR/index ]] && { ! git ls-files -v >/run/windlass/marks 2>/dev/null || grep -qv '^H ' /run/windlass/marks; }; then
    rm "$GIT_DIR/index"
  fi
}

update() {
  local git=$1/.git partial=false
  [[ -d $git && ! -L $git && -d $git/objects && ! -L $git/objects ]] || return 1
  # Read as text, because git must not load this file.
  grep -qE '^[[:space:]]*promisor[[:space:]]*=[[:space:]]*true' "$git/config" 2>/dev/null && partial=true
  [[ $partial == "$EXCLUDE_BLOBS" ]] || return 1
  open_repository "$1" && take_over "$1" && fetch update && checkout && git clean --quiet -fd && close_repository "$1"
}

export GIT_DIR=/tmp/windlass-git GIT_NO_REPLACE_OBJECTS=1
is_direct "$DIRECTORY" || exit 16

if [[ -e $DIRECTORY/.git ]]; then
  echo "Updating the clone in $DIRECTORY."
  # A subshell: the fallback must not depend on where an update stopped.
  (update "$DIRECTORY")
  code=$?
  # A fresh clone would get the same error from the remote.
  [[ $code -lt 10 || $code -gt 13 ]] || exit "$code"
else
  code=1
fi
if [[ $code != 0 ]]; then
  echo "Cloning $REPO."
  (fresh "$DIRECTORY.windlass-new") || { code=$?; rm -rf "$DIRECTORY.windlass-new"; exit "$code"; }
  rm -rf "$DIRECTORY" && mv "$DIRECTORY.windlass-new" "$DIRECTORY" || exit 1
fi

export GIT_WORK_TREE=$DIRECTORY GIT_OBJECT_DIRECTORY=$DIRECTORY/.git/objects
cd "$DIRECTORY" || exit 1
name=$(git symbolic-ref --quiet --short HEAD) || name=
[[ -z $name && -n $REVISION ]] && git rev-parse --quiet --verify "refs/tags/$REVISION" >/dev/null && name=$REVISION
git log -1 --format='%h %an: %s'
printf '%s\0' "$name" >&3
git log -1 --format='%H%x00%an%x00%B%x00' >&3
