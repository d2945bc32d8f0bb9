# Builds an image with the BuildKit of the daemon. Arguments of `docker buildx build` come NUL-separated in a file among the secrets.
# Standard output: the id of the image. Exit codes: 20 no such directory, 21 no such Dockerfile, else that of the build.
set -uo pipefail
exec 3>&1 1>&2
tar -xf - -C /run/windlass || exit 1
export DOCKER_CONFIG=/run/windlass HOME=/run/windlass DOCKER_HOST=unix:///var/run/docker.sock
cd "$DIRECTORY" 2>/run/windlass/said || exit 20
[[ -f $DOCKERFILE ]] || exit 21
mapfile -d '' -t options </run/windlass/options
docker buildx build --iidfile /run/windlass/image-id "${options[@]}" --file "$DOCKERFILE" . || exit
cat /run/windlass/image-id >&3
