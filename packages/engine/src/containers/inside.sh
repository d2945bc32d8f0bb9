# For scripts that have credentials in a tmpfs and read files written by steps: a link there could lead to the credentials.
# ROOTS has the folders that steps see, one per line.
inside() {
  local real root
  real=$(realpath "$1" 2>/dev/null) || return 1
  while read -r root; do
    [[ $real == "$root" || $real == "$root"/* ]] && return 0
  done <<<"$ROOTS"
  return 1
}

# Ends the script if a path exists and is outside of what steps see.
require_inside() {
  local path
  for path in "$@"; do
    if [[ -e $path || -L $path ]] && ! inside "$path"; then
      printf '%s\n' "$path" >&2
      exit 22
    fi
  done
}
