# Runs `docker compose`. Its environment is only the file `variables` (NUL-separated), so that nothing else is substituted. Standard output is that of
# compose. If the file `places` (NUL-separated) exists, its paths must be visible to steps. Exit codes: 20 no such file, 21 a folder, 22 a path
# outside of what steps see, else that of compose.
set -uo pipefail
tar -xf - -C /run/windlass || exit 1
cd /
if [[ -n ${COMPOSE_PATH:-} ]]; then
  [[ -e $COMPOSE_PATH ]] || exit 20
  [[ -f $COMPOSE_PATH ]] || exit 21
fi
if [[ -f /run/windlass/places ]]; then
  mapfile -d '' -t places </run/windlass/places
  require_inside "${places[@]}"
fi
mapfile -d '' -t variables </run/windlass/variables
exec env -i "${variables[@]}" /usr/libexec/docker/cli-plugins/docker-compose --env-file /dev/null "$@"
