# Runs `docker compose`. Its environment is the file `variables` (NUL-separated) alone, so that nothing else is filled in.
# Standard output is that of compose. Exit codes: 20 no such file, 21 a folder, else that of compose.
set -uo pipefail
tar -xf - -C /run/windlass || exit 1
cd /
if [[ -n ${COMPOSE_PATH:-} ]]; then
  [[ -e $COMPOSE_PATH ]] || exit 20
  [[ -f $COMPOSE_PATH ]] || exit 21
fi
mapfile -d '' -t variables </run/windlass/variables
exec env -i "${variables[@]}" /usr/libexec/docker/cli-plugins/docker-compose --env-file /dev/null "$@"
