# Deploys to Kubernetes: a new image behind a Service, or a manifest. Standard output: messages of the cluster about an incomplete rollout.
# Exit codes: 30 nothing behind the Service, 31 no container to change, 32 rollout timeout, else that of kubectl.
# shellcheck disable=SC2016 # the dollars in templates are those of kubectl
set -uo pipefail
exec 3>&1 1>&2
tar -xf - -C /run/windlass || exit 1
export KUBECONFIG=/run/windlass/kubeconfig HOME=/run/windlass
kube() { kubectl --namespace "$NAMESPACE" "$@"; }
end=$((SECONDS + ROLLOUT_SECONDS))

# Prints the messages of the cluster about a workload and its pods: KIND/NAME
explain() {
  local selector
  selector=$(kube get "$1" -o go-template='{{range $k, $v := .spec.selector.matchLabels}}{{$k}}={{$v}},{{end}}')
  {
    kube get "$1" -o go-template='{{range .status.conditions}}{{if ne .type "Available"}}{{.message}}{{"\n"}}{{end}}{{end}}'
    kube get pods --selector "${selector%,}" -o go-template='{{range .items}}{{$pod := .metadata.name}}{{range .status.containerStatuses}}{{with .state.waiting}}{{$pod}}: {{.reason}}{{with .message}}: {{.}}{{end}}{{"\n"}}{{end}}{{with .lastState.terminated}}{{$pod}}: ended with exit code {{.exitCode}}{{"\n"}}{{end}}{{end}}{{range .status.conditions}}{{if eq .reason "Unschedulable"}}{{$pod}}: {{.message}}{{"\n"}}{{end}}{{end}}{{end}}'
  } | grep -v '^<no value>$' | tail -n 6 >&3
}

await_rollout() { # KIND/NAME
  local left=$((end - SECONDS))
  ((left > 0)) || left=1
  kube rollout status "$1" --timeout="${left}s" || { explain "$1"; exit 32; }
}

deploy_manifest() {
  local name names
  names=$(kube apply --filename /run/windlass/manifest -o name) || exit
  printf '%s\n' "$names"
  for name in $names; do
    case $name in
      deployment.apps/* | statefulset.apps/* | daemonset.apps/*) await_rollout "$name" ;;
    esac
  done
}

# Finds the Deployment whose pods the Service selects.
find_deployment() {
  local selector wanted labels name
  selector=$(kube get service "$SERVICE" -o go-template='{{range $k, $v := .spec.selector}}{{$k}}={{$v}} {{end}}') || exit
  [[ -n ${selector// /} ]] || { echo "The Service $SERVICE has no selector."; exit 30; }
  while read -r name labels; do
    for wanted in $selector; do [[ " $labels " == *" $wanted "* ]] || continue 2; done
    deployment=$name
    return
  done < <(kube get deployments -o go-template='{{range .items}}{{.metadata.name}}{{range $k, $v := .spec.template.metadata.labels}} {{$k}}={{$v}}{{end}}{{"\n"}}{{end}}')
  echo "No Deployment creates pods with ${selector% }, which the Service $SERVICE selects."
  exit 30
}

# Finds the only container, or the one with the same image repository.
find_container() {
  local name image count=0
  while read -r name image; do
    count=$((count + 1))
    [[ $count == 1 || ${image%%[:@]*} == "${IMAGE%%[:@]*}" ]] && container=$name
    [[ ${image%%[:@]*} == "${IMAGE%%[:@]*}" ]] && return
  done < <(kube get deployment "$deployment" -o go-template='{{range .spec.template.spec.containers}}{{.name}} {{.image}}{{"\n"}}{{end}}')
  ((count == 1)) || { echo "The Deployment $deployment has $count containers, and none of them uses ${IMAGE%%[:@]*}."; exit 31; }
}

deploy_image() {
  local secrets=''
  find_deployment
  if [[ -z $IMAGE ]]; then
    kube rollout restart "deployment/$deployment" || exit
  else
    find_container
    if [[ -f /run/windlass/pull-secret ]]; then
      kube get secret "$PULL_SECRET" >/dev/null 2>&1 ||
        kube create secret generic "$PULL_SECRET" --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson=/run/windlass/pull-secret || exit
      secrets="\"imagePullSecrets\":[{\"name\":\"$PULL_SECRET\"}],"
    fi
    kube patch deployment "$deployment" --type=strategic \
      --patch "{\"spec\":{\"template\":{\"spec\":{$secrets\"containers\":[{\"name\":\"$container\",\"image\":\"$IMAGE\"}]}}}}" || exit
  fi
  await_rollout "deployment/$deployment"
}

if [[ -f /run/windlass/manifest ]]; then deploy_manifest; else deploy_image; fi
