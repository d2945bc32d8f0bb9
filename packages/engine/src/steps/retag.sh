# Adds tags to an image at a registry: reads and writes its manifest without transferring layers (OCI distribution specification).
# Environment: BASE (scheme://host), REPOSITORY, REFERENCE (tag or digest), TAGS (space-separated). Files in /run/windlass: login (a curl
# configuration, may be empty). Standard output: the digest. Exit codes: 30 no answer from the registry, 31 no such image, 32 not allowed, 33 other.
set -uo pipefail
exec 3>&1 1>&2
tar -xf - -C /run/windlass || exit 1
cd /run/windlass || exit 1
: >authorization
accept='Accept: application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json'

field() { sed -n "s/.*[ ,]$1=\"\([^\"]*\)\".*/\1/p" <<<"$challenge"; }

# Authenticates as the first response of the registry demands: with the login, or with a token for it.
authorize() {
  challenge=$(sed -n 's/^[Ww][Ww][Ww]-[Aa]uthenticate: *//p' headers | tr -d '\r')
  case $challenge in
    [Bb]asic*) cp login authorization ;;
    [Bb]earer*)
      local realm token
      realm=$(field realm)
      challenge=" ${challenge#* }"
      curl -sS --config login --max-time 30 --get --output token --data-urlencode "service=$(field service)" --data-urlencode "scope=repository:$REPOSITORY:pull,push" "${realm:-$(field realm)}" || return 1
      token=$(sed -n 's/.*"\(access_\)\{0,1\}token" *: *"\([^"]*\)".*/\2/p' token)
      printf 'header = "Authorization: Bearer %s"\n' "$token" >authorization
      ;;
    *) return 1 ;;
  esac
}
call() { status=$(curl -sS --config authorization --max-time 60 --dump-header headers --output body --write-out '%{http_code}' "$@") || exit 30; }

call --header "$accept" "$BASE/v2/$REPOSITORY/manifests/$REFERENCE"
if [[ $status == 401 ]] && authorize; then call --header "$accept" "$BASE/v2/$REPOSITORY/manifests/$REFERENCE"; fi
case $status in
  200) ;;
  404) exit 31 ;;
  401 | 403) exit 32 ;;
  *) head -c 500 body; exit 33 ;;
esac
mv body manifest
type=$(sed -n 's/^[Cc]ontent-[Tt]ype: *//p' headers | tr -d '\r' | tail -n 1)
for tag in $TAGS; do
  call --request PUT --header "Content-Type: $type" --data-binary @manifest "$BASE/v2/$REPOSITORY/manifests/$tag"
  case $status in
    20?) ;;
    401 | 403) exit 32 ;;
    *) head -c 500 body; exit 33 ;;
  esac
done
printf 'sha256:%s' "$(sha256sum <manifest | cut -d' ' -f1)" >&3
