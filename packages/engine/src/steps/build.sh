# Builds an image. Environment: DIRECTORY, DOCKERFILE, BUILDER (container of a BuildKit daemon; empty: the builder in the Docker daemon), CLASSIC (not
# empty: the classic builder), LABEL, MAX_BYTES. Files in /run/windlass: options (NUL-separated, of `docker buildx build`), and salt, visible.awk,
# known (hashes) if the content must be hashed.
# `sources`: files that the options name as source-0, source-1, ...; `places`: other paths in the options. Both are NUL-separated.
# Standard output: `hash H`, then `known H` if nothing has to be built, else `id I` and `metadata JSON`.
# Exit codes: 20 no such directory, 21 no such Dockerfile, 22 a path outside of what steps see, else that of the build.
set -uo pipefail
exec 3>&1 1>&2
tar -xf - -C /run/windlass || exit 1
export DOCKER_CONFIG=/run/windlass HOME=/run/windlass DOCKER_HOST=unix:///var/run/docker.sock BUILDX_NO_DEFAULT_ATTESTATIONS=1
[[ -d $DIRECTORY ]] || exit 20
require_inside "$DIRECTORY"
cd -P -- "$DIRECTORY" 2>/run/windlass/output || exit 20
require_inside "$PWD" .dockerignore
[[ -f $DOCKERFILE ]] || exit 21
[[ $DOCKERFILE == /run/windlass/Dockerfile ]] || require_inside "$DOCKERFILE" "$DOCKERFILE.dockerignore"
mapfile -d '' -t places </run/windlass/places
require_inside "${places[@]}"
mapfile -d '' -t sources </run/windlass/sources
for number in "${!sources[@]}"; do
  require_inside "${sources[number]}"
  # A copy, so that later changes to the file have no effect.
  cp -- "${sources[number]}" "/run/windlass/source-$number" || exit 1
done
mapfile -d '' -t options </run/windlass/options

# Times, owners and the order of files are ignored; names, modes and contents are hashed.
content_hash() {
  local bytes
  find . -mindepth 1 -print0 | tr '\n\0' '\001\n' | sed 's|^\./||' | awk -f /run/windlass/visible.awk | LC_ALL=C sort | tr '\n\001' '\0\n' >/run/windlass/visible
  bytes=$(xargs -0 -r stat -c %s </run/windlass/visible | awk '{ total += $1 } END { printf "%.0f", total }')
  ((${bytes:-0} <= MAX_BYTES)) || return 1
  {
    cat /run/windlass/salt
    tar --null --no-recursion --files-from=/run/windlass/visible --mtime=@0 --owner=0 --group=0 --numeric-owner --format=gnu -cf -
  } | sha256sum | cut -d' ' -f1
}
if [[ -f /run/windlass/salt ]] && hash=$(content_hash 2>/run/windlass/output) && [[ $hash =~ ^[0-9a-f]{64}$ ]]; then
  printf 'hash %s\n' "$hash" >&3
  if grep -qxF "$hash" /run/windlass/known; then
    printf 'known %s\n' "$hash" >&3
    exit 0
  fi
  options+=(--label "$LABEL=$hash")
fi

# Only the classic builder squashes. It has neither metadata nor the options of BuildKit, which the engine omits.
if [[ -n $CLASSIC ]]; then
  DOCKER_BUILDKIT=0 docker build --iidfile /run/windlass/image-id "${options[@]}" --file "$DOCKERFILE" . || exit
  printf 'id %s\n' "$(cat /run/windlass/image-id)" >&3
  exit 0
fi

if [[ -n $BUILDER ]]; then
  docker buildx create --name windlass --driver remote "docker-container://$BUILDER" >/run/windlass/output || exit
  options+=(--builder windlass)
fi
docker buildx build --iidfile /run/windlass/image-id --metadata-file /run/windlass/metadata.json "${options[@]}" --file "$DOCKERFILE" . || exit
printf 'id %s\n' "$(cat /run/windlass/image-id)" >&3
printf 'metadata %s\n' "$(tr -d '\n' </run/windlass/metadata.json)" >&3
