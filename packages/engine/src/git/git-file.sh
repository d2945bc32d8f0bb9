# Fetches one path of a repository at a revision with as little else as possible.
# MODE print: prints the file to standard output. MODE copy: copies the file, or with FOLDER=true the contents of the folder, to DESTINATION.
# Additional exit codes: 14 no such file, 15 file too large.
repo=$(mktemp -d) || exit 1
trap 'rm -rf "$repo"' EXIT
cd "$repo" && git init --quiet && git remote add origin "$REPO" || exit 1
if with_retries git fetch --quiet --depth=1 --filter=blob:none --no-tags --end-of-options origin "${REVISION:-HEAD}"; then
  commit=FETCH_HEAD
elif [[ $REVISION =~ ^[0-9a-fA-F]{7,64}$ ]]; then
  # The server does not serve single commits, or the commit is abbreviated.
  with_retries git fetch --quiet --filter=blob:none --tags origin '+refs/heads/*:refs/remotes/origin/*' || exit
  commit=$REVISION
else
  classify
  exit
fi
git rev-parse --quiet --verify "$commit^{commit}" >/dev/null || exit 12
path=${FILE#/}
path=${path%/}
git cat-file -e "$commit:$path" 2>/dev/null || exit 14
if [[ $MODE == print ]]; then
  [[ $(git cat-file -t "$commit:$path") == blob ]] || exit 14
  [[ $(git cat-file -s "$commit:$path") -le 1048576 ]] || exit 15
  git cat-file blob "$commit:$path" >&3
  exit
fi
is_direct "$DESTINATION" || exit 16
mkdir -p "$DESTINATION" || exit 1
if [[ $FOLDER == true ]]; then
  [[ $(git cat-file -t "$commit:$path") == tree ]] || exit 14
  git archive "$commit:$path" | tar -xf - -C "$DESTINATION"
else
  [[ $(git cat-file -t "$commit:$path") == blob ]] || exit 14
  git archive "$commit" -- "$path" | tar -xf - -C "$repo" && cp -a "$repo/$path" "$DESTINATION/"
fi
