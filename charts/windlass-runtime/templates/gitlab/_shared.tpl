{{- /* Copied by `npm run gen` from charts/windlass-gitlab-runner/templates. */ -}}
{{- define "gitlab-runner.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default "gitlab-runner" .Values.nameOverride -}}
{{- if hasPrefix $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gitlab-runner.labels" -}}
app: {{ include "gitlab-runner.fullname" . }}
chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
release: {{ .Release.Name | quote }}
heritage: {{ .Release.Service | quote }}
{{- end -}}

{{- define "gitlab-runner.jobNamespace" -}}
{{- default .Release.Namespace .Values.runners.jobNamespace -}}
{{- end -}}

{{- define "gitlab-runner.createsAccount" -}}
{{- if kindIs "bool" .Values.serviceAccount.create -}}
{{- ternary "true" "" .Values.serviceAccount.create -}}
{{- else -}}
{{- ternary "true" "" .Values.rbac.create -}}
{{- end -}}
{{- end -}}

{{- define "gitlab-runner.account" -}}
{{- if include "gitlab-runner.createsAccount" . -}}
{{- coalesce .Values.serviceAccount.name .Values.rbac.generatedServiceAccountName (include "gitlab-runner.fullname" .) -}}
{{- else -}}
{{- coalesce .Values.serviceAccount.name .Values.rbac.serviceAccountName "default" -}}
{{- end -}}
{{- end -}}

{{- define "gitlab-runner.secret" -}}
{{- default (include "gitlab-runner.fullname" .) .Values.runners.secret -}}
{{- end -}}

{{- /* The image of the original cannot run this chart: only one with the name of ours is taken from `image`. */ -}}
{{- define "gitlab-runner.image" -}}
{{- $own := ternary (printf "windlass/windlass@%s" .Values.managerDigest) (printf "windlass/windlass:%s" .Chart.AppVersion) (not (empty .Values.managerDigest)) -}}
{{- $given := "" -}}
{{- if and (kindIs "map" .Values.image) (contains "windlass" (default "" .Values.image.image)) -}}
{{- $given = printf "%s%s:%s" (ternary (printf "%s/" .Values.image.registry) "" (not (empty .Values.image.registry))) .Values.image.image (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- coalesce .Values.managerImage $given $own -}}
{{- end -}}

{{- define "gitlab-runner.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
{{- end }}
{{- end }}
{{- end -}}
{{- /*
The manager of GitLab runners as parts of a pod: the chart windlass-gitlab-runner has a pod for it, and windlass-runtime adds it to that of its agent. Each template takes a context with
`Values` (those of this chart), `Release`, `Chart`, and optionally `prefix` of its volumes, `agentUrl` to which it reports its jobs, `moreEnv` and `moreMounts`.
*/ -}}
{{- define "gitlab-runner.configData" -}}
{{- $url := required "gitlabUrl is required: the URL of the GitLab server." .Values.gitlabUrl }}
{{- if ne (default "kubernetes" .Values.runners.executor) "kubernetes" }}
{{- fail (printf "runners.executor is %q: Windlass runs jobs in pods only." .Values.runners.executor) }}
{{- end }}
config.toml: |
  shutdown_timeout = {{ default 0 .Values.shutdown_timeout | int }}
  concurrent = {{ default 10 .Values.concurrent | int }}
  check_interval = {{ default 3 .Values.checkInterval | int }}
  log_level = {{ default "info" .Values.logLevel | quote }}
  {{- with .Values.logFormat }}
  log_format = {{ . | quote }}
  {{- end }}
  {{- with .Values.connectionMaxAge }}
  connection_max_age = {{ . | quote }}
  {{- end }}
  listen_address = ":{{ .Values.metrics.port | int }}"
  {{- if include "gitlab-runner.hasSessions" . }}

  [session_server]
    listen_address = ":{{ default 8093 .Values.sessionServer.internalPort | int }}"
    advertise_address = {{ include "gitlab-runner.sessionAddress" . | quote }}
    session_timeout = {{ default 1800 .Values.sessionServer.timeout | int }}
  {{- end }}
{{- with .Values.runners.config }}
config.template.toml: |
{{ tpl . $ | indent 2 }}
{{- end }}
entrypoint: |
  #!/bin/sh
  set -eu
  umask 077
  # Until the manager runs. The first process of a container ignores signals without a trap.
  trap 'exit 0' QUIT TERM
  folder=$HOME/.gitlab-runner
  mkdir -p "$folder"
  rm -f "$folder/started"
  [ ! -d /certs ] || ln -sfn /certs "$folder/certs"
  read_key() { [ ! -s "/secrets/$1" ] || tr -d '\r\n' <"/secrets/$1"; }
  CI_SERVER_TOKEN=$(read_key runner-token)
  REGISTRATION_TOKEN=$(read_key runner-registration-token)
  [ -z "$CI_SERVER_TOKEN" ] || export CI_SERVER_TOKEN
  [ -z "$REGISTRATION_TOKEN" ] || export REGISTRATION_TOKEN
  [ ! -s /secrets/accesskey ] || export CACHE_S3_ACCESS_KEY="$(read_key accesskey)" CACHE_S3_SECRET_KEY="$(read_key secretkey)"
  [ ! -s /secrets/gcs-access-id ] || export CACHE_GCS_ACCESS_ID="$(read_key gcs-access-id)" CACHE_GCS_PRIVATE_KEY="$(cat /secrets/gcs-private-key)"
  # The second name is a spelling of older charts of the original.
  for name in gcs-application-credentials-file gcs-applicaton-credentials-file; do
    [ ! -s "/secrets/$name" ] || export GOOGLE_APPLICATION_CREDENTIALS="/secrets/$name"
  done
  [ ! -s /secrets/azure-account-name ] || export CACHE_AZURE_ACCOUNT_NAME="$(read_key azure-account-name)" CACHE_AZURE_ACCOUNT_KEY="$(read_key azure-account-key)"
  template=/configmaps/config.template.toml
  [ -f "$template" ] || template={{ default "" .Values.runners.configPath | quote }}
  tries=0
  # A container that starts again keeps its runner, and with it the jobs of that. A manager that has drained has unregistered it.
  is_registered() { [ -f "$folder/registered" ] && grep -q '^ *\[\[runners]]' "$folder/config.toml"; }
  # A restart of the container reads the Secret again.
  if [ -z "$CI_SERVER_TOKEN$REGISTRATION_TOKEN" ] && ! is_registered; then
    echo 'error: The Secret {{ include "gitlab-runner.secret" . }} has neither the key runner-token nor runner-registration-token.' >&2
    echo 'hint: Add the token of the runner to it. The container starts again by itself.' >&2
    exit 1
  fi
  is_registered || cp /configmaps/config.toml "$folder/config.toml"
  until is_registered || windlass gitlab register --non-interactive ${template:+--template-config "$template"}; do
    tries=$((tries + 1))
    [ "$tries" -lt 30 ] || exit 1
    sleep 5
  done
  : >"$folder/registered"
  unset CI_SERVER_TOKEN REGISTRATION_TOKEN
  if [ -f /configmaps/pre-entrypoint-script ]; then sh -eu /configmaps/pre-entrypoint-script; fi
  # The probes begin.
  : >"$folder/started"
  exec windlass gitlab run{{ if .Values.unregisterRunners }} --unregister{{ end }}
{{- with .Values.preEntrypointScript }}
pre-entrypoint-script: |
{{ . | indent 2 }}
{{- end }}
{{- end -}}

{{- define "gitlab-runner.container" -}}
{{- $prefix := default "" .prefix -}}
- name: gitlab-runner
  image: {{ include "gitlab-runner.image" . }}
  imagePullPolicy: {{ .Values.imagePullPolicy }}
  command: [/bin/sh, /configmaps/entrypoint]
  securityContext: {{- toYaml .Values.securityContext | nindent 4 }}
  lifecycle:
    preStop:
      exec:
        # The manager runs its jobs to their end. The container ends with it.
        command: [/bin/sh, -c, 'kill -QUIT 1; while :; do sleep 1; done']
  env:
    {{- with .moreEnv }}{{- . | nindent 4 }}{{- end }}
    - name: HOME
      value: /home/gitlab-runner
    - name: CI_SERVER_URL
      value: {{ .Values.gitlabUrl | quote }}
    - name: RUNNER_EXECUTOR
      value: kubernetes
    {{- with .Values.runners.name }}
    - name: RUNNER_NAME
      value: {{ . | quote }}
    {{- end }}
    {{- if not (regexMatch "(?m)^\\s*namespace\\s*=" (default "" .Values.runners.config)) }}
    - name: KUBERNETES_NAMESPACE
      value: {{ include "gitlab-runner.jobNamespace" . | quote }}
    {{- end }}
    {{- with .Values.runners.tags }}
    - name: RUNNER_TAG_LIST
      value: {{ . | quote }}
    {{- end }}
    {{- if kindIs "bool" .Values.runners.locked }}
    - name: REGISTER_LOCKED
      value: {{ .Values.runners.locked | quote }}
    {{- end }}
    {{- if kindIs "bool" .Values.runners.runUntagged }}
    - name: REGISTER_RUN_UNTAGGED
      value: {{ .Values.runners.runUntagged | quote }}
    {{- end }}
    {{- if .Values.runners.protected }}
    - name: REGISTER_ACCESS_LEVEL
      value: ref_protected
    {{- end }}
    {{- with .Values.runners.maximumTimeout }}
    - name: REGISTER_MAXIMUM_TIMEOUT
      value: {{ . | quote }}
    {{- end }}
    - name: WINDLASS_GITLAB_HELPER_IMAGE
      value: {{ coalesce .Values.helperImage (ternary (printf "windlass/gitlab-helper@%s" .Values.helperDigest) "" (not (empty .Values.helperDigest))) (printf "windlass/gitlab-helper:%s" .Chart.AppVersion) | quote }}
    {{- with .Values.controlPlane.url }}
    - name: WINDLASS_GITLAB_SERVER_URL
      value: {{ . | quote }}
    - name: WINDLASS_GITLAB_SERVER_TOKEN_FILE
      value: /windlass-server/token
    {{- if $.Values.controlPlane.caSecretName }}
    - name: WINDLASS_GITLAB_SERVER_CA
      value: /windlass-server/ca.crt
    {{- end }}
    {{- end }}
    {{- with .agentUrl }}
    - name: WINDLASS_GITLAB_SERVER_AGENT
      value: {{ . | quote }}
    {{- end }}
    {{- range .Values.envVars }}
    - name: {{ .name }}
      value: {{ .value | quote }}
    {{- end }}
    {{- range $key, $value := .Values.extraEnv }}
    - name: {{ $key }}
      value: {{ $value | quote }}
    {{- end }}
    {{- range $key, $value := .Values.extraEnvFrom }}
    - name: {{ $key }}
      valueFrom: {{- toYaml $value | nindent 8 }}
    {{- end }}
  {{- with .Values.extraEnvFromRefs }}
  envFrom: {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - name: {{ .Values.metrics.portName }}
      containerPort: {{ .Values.metrics.port | int }}
    {{- if include "gitlab-runner.hasSessions" . }}
    - name: sessions
      containerPort: {{ default 8093 .Values.sessionServer.internalPort | int }}
    {{- end }}
  {{- $timeout := dict "timeoutSeconds" (default 4 .Values.probeTimeoutSeconds | int) }}
  # The manager serves its health only after the registration, which ends by itself, and preEntrypointScript, which has an hour.
  startupProbe:
    exec:
      command: [/bin/sh, -c, 'test -f "$HOME/.gitlab-runner/started"']
    periodSeconds: 2
    failureThreshold: 1800
  # No probe asks GitLab: a server that does not answer is no reason to end jobs. A stuck manager does not drain, so its container ends soon.
  livenessProbe:
    httpGet:
      path: /health/live
      port: {{ .Values.metrics.portName }}
    {{- $live := dict "periodSeconds" 60 "failureThreshold" 3 "terminationGracePeriodSeconds" 30 }}
    {{- mergeOverwrite $live $timeout (default dict .Values.livenessProbe) | toYaml | nindent 4 }}
  readinessProbe:
    httpGet:
      path: /health/ready
      port: {{ .Values.metrics.portName }}
    {{- mergeOverwrite (dict "periodSeconds" 5) $timeout (default dict .Values.readinessProbe) | toYaml | nindent 4 }}
  {{- with .Values.resources }}
  resources: {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - name: {{ $prefix }}runner-secrets
      mountPath: /secrets
    - name: {{ $prefix }}home
      mountPath: /home/gitlab-runner
    - name: {{ $prefix }}tmp
      mountPath: /tmp
    - name: {{ $prefix }}configmaps
      mountPath: /configmaps
    {{- if .Values.certsSecretName }}
    - name: {{ $prefix }}certs
      mountPath: /certs
      readOnly: true
    {{- end }}
    {{- if .Values.controlPlane.url }}
    - name: {{ $prefix }}windlass-server
      mountPath: /windlass-server
      readOnly: true
    {{- end }}
    {{- with .moreMounts }}{{- . | nindent 4 }}{{- end }}
    {{- with .Values.volumeMounts }}{{- toYaml . | nindent 4 }}{{- end }}
{{- end -}}

{{- define "gitlab-runner.volumes" -}}
{{- $prefix := default "" .prefix -}}
- name: {{ $prefix }}runner-secrets
  projected:
    sources:
      - secret:
          # Each of the two keys may be absent.
          name: {{ include "gitlab-runner.secret" . }}
      {{- with .Values.runners.cache.secretName }}
      - secret:
          name: {{ . }}
      {{- end }}
# The configuration with the token. In memory, so that no disk keeps it.
- name: {{ $prefix }}home
  emptyDir:
    medium: Memory
- name: {{ $prefix }}tmp
  emptyDir: {}
- name: {{ $prefix }}configmaps
  configMap:
    name: {{ include "gitlab-runner.fullname" . }}
{{- with .Values.certsSecretName }}
- name: {{ $prefix }}certs
  secret:
    secretName: {{ . }}
{{- end }}
{{- if .Values.controlPlane.url }}
- name: {{ $prefix }}windlass-server
  projected:
    sources:
      - secret:
          name: {{ required "controlPlane.secretName is required with controlPlane.url: a Secret with the key token." .Values.controlPlane.secretName }}
          items:
            - key: token
              path: token
      {{- with .Values.controlPlane.caSecretName }}
      - secret:
          name: {{ . }}
          items:
            - key: ca.crt
              path: ca.crt
      {{- end }}
{{- end }}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- /* The server of terminals of jobs. `sessionSelector` of the context selects the pods of managers. */ -}}
{{- define "gitlab-runner.hasSessions" -}}
{{- /* GitLab opens a terminal at the manager that runs the job, so all addresses have to lead to one. */ -}}
{{- $managers := ternary 1 .Values.replicas (kindIs "invalid" .Values.replicas) | int -}}
{{- if and .Values.sessionServer .Values.sessionServer.enabled (eq $managers 1) (not .Values.hpa) -}}
true
{{- end -}}
{{- end -}}

{{- define "gitlab-runner.sessionName" -}}
{{- printf "%s-session-server" (include "gitlab-runner.fullname" . | trunc 48 | trimSuffix "-") -}}
{{- end -}}

{{- define "gitlab-runner.sessionType" -}}
{{- $type := default "LoadBalancer" .Values.sessionServer.serviceType -}}
{{- if not (has $type (list "LoadBalancer" "ClusterIP" "Headless" "NodePort")) -}}
{{- fail (printf "sessionServer.serviceType is %q: use LoadBalancer, ClusterIP, Headless or NodePort." $type) -}}
{{- end -}}
{{- $type -}}
{{- end -}}

{{- /* Port at which GitLab reaches the manager. */ -}}
{{- define "gitlab-runner.sessionPort" -}}
{{- $type := include "gitlab-runner.sessionType" . -}}
{{- if eq $type "Headless" -}}
{{- default 8093 .Values.sessionServer.internalPort | int -}}
{{- else if eq $type "NodePort" -}}
{{- required "sessionServer.nodePort is required with sessionServer.serviceType NodePort." .Values.sessionServer.nodePort | int -}}
{{- else -}}
{{- default 9000 .Values.sessionServer.externalPort | int -}}
{{- end -}}
{{- end -}}

{{- define "gitlab-runner.sessionAddress" -}}
{{- $type := include "gitlab-runner.sessionType" . -}}
{{- $host := .Values.sessionServer.publicIP -}}
{{- if and (not $host) (has $type (list "ClusterIP" "Headless")) -}}
{{- $host = printf "%s.%s.svc.cluster.local" (include "gitlab-runner.sessionName" .) .Release.Namespace -}}
{{- end -}}
{{- $host = required (printf "sessionServer.publicIP is required with sessionServer.serviceType %s: the address or name at which GitLab reaches the Service." $type) $host -}}
{{- printf "%s:%s" (ternary (printf "[%s]" $host) $host (contains ":" $host)) (include "gitlab-runner.sessionPort" .) -}}
{{- end -}}

{{- define "gitlab-runner.sessionService" -}}
{{- if include "gitlab-runner.hasSessions" . }}
{{- $type := include "gitlab-runner.sessionType" . }}
{{- $port := default 8093 .Values.sessionServer.internalPort | int }}
# GitLab opens the terminals of jobs here.
apiVersion: v1
kind: Service
metadata:
  name: {{ include "gitlab-runner.sessionName" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "gitlab-runner.labels" . | nindent 4 }}
  {{- with .Values.sessionServer.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ ternary "ClusterIP" $type (eq $type "Headless") }}
  {{- if eq $type "Headless" }}
  clusterIP: None
  {{- end }}
  {{- if eq $type "LoadBalancer" }}
  {{- with .Values.sessionServer.loadBalancerSourceRanges }}
  loadBalancerSourceRanges: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- with .Values.sessionServer.externalTrafficPolicy }}
  externalTrafficPolicy: {{ . }}
  {{- end }}
  {{- with .Values.sessionServer.internalTrafficPolicy }}
  internalTrafficPolicy: {{ . }}
  {{- end }}
  selector:
    {{- default (printf "app: %s\nrelease: %s" (include "gitlab-runner.fullname" .) (quote .Release.Name)) .sessionSelector | nindent 4 }}
  ports:
    - name: sessions
      port: {{ ternary $port (default 9000 .Values.sessionServer.externalPort | int) (eq $type "Headless") }}
      targetPort: {{ $port }}
      {{- if eq $type "NodePort" }}
      nodePort: {{ include "gitlab-runner.sessionPort" . }}
      {{- end }}
{{- end }}
{{- end -}}
{{- /* Account and rights of a manager. */ -}}
{{- define "gitlab-runner.rbac" -}}
{{- if include "gitlab-runner.createsAccount" . }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "gitlab-runner.account" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "gitlab-runner.labels" . | nindent 4 }}
  {{- with mergeOverwrite (dict) (default dict .Values.rbac.serviceAccountAnnotations) (default dict .Values.serviceAccount.annotations) }}
  annotations:
    {{- range $key, $value := . }}
    {{ $key }}: {{ tpl (toString $value) $ | quote }}
    {{- end }}
  {{- end }}
---
{{- end }}
{{- if .Values.rbac.create }}
{{- $wide := .Values.rbac.clusterWideAccess }}
{{- $perJob := regexMatch "(?m)^\\s*namespace_per_job\\s*=\\s*true" (default "" .Values.runners.config) }}
{{- if and $perJob (not $wide) }}
{{- fail "namespace_per_job in runners.config needs rights in namespaces that do not exist yet. Set rbac.clusterWideAccess to true, or set rbac.create to false and bind the rules of packages/gitlab/rbac." }}
{{- end }}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRole" "Role" $wide }}
metadata:
  name: {{ include "gitlab-runner.fullname" . }}
  {{- if not $wide }}
  namespace: {{ include "gitlab-runner.jobNamespace" . | quote }}
  {{- end }}
  labels: {{- include "gitlab-runner.labels" . | nindent 4 }}
rules:
  {{- if .Values.rbac.rules }}
  # The rules of the values, and what Windlass needs to continue the jobs of a manager that has ended.
  {{- range .Values.rbac.rules }}
  - apiGroups: {{ default (list "") .apiGroups | toJson }}
    resources: {{ default (list "*") .resources | toJson }}
    verbs: {{ default (list "*") .verbs | toJson }}
  {{- end }}
  {{- end }}
  {{- include "gitlab-runner.rules" . | nindent 2 }}
  {{- if $perJob }}
  {{- include "gitlab-runner.namespaceRules" . | nindent 2 }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRoleBinding" "RoleBinding" $wide }}
metadata:
  name: {{ include "gitlab-runner.fullname" . }}
  {{- if not $wide }}
  namespace: {{ include "gitlab-runner.jobNamespace" . | quote }}
  {{- end }}
  labels: {{- include "gitlab-runner.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ ternary "ClusterRole" "Role" $wide }}
  name: {{ include "gitlab-runner.fullname" . }}
subjects:
  - kind: ServiceAccount
    name: {{ include "gitlab-runner.account" . }}
    namespace: {{ .Release.Namespace | quote }}
{{- end }}
{{- end -}}
{{- /* The hook that lets running jobs end before the release is removed. `drainSelector` of the context selects the pods of managers. */ -}}
{{- define "gitlab-runner.drain" -}}
{{- if .Values.drain.enabled }}
{{- $name := printf "%s-drain" (include "gitlab-runner.fullname" . | trunc 57) }}
{{- $hook := dict "helm.sh/hook" "pre-delete" "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" }}
# The rights of the manager go with the release, so its jobs have to end before.
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "gitlab-runner.labels" . | nindent 4 }}
  annotations: {{- merge (dict "helm.sh/hook-weight" "-2") $hook | toYaml | nindent 4 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "gitlab-runner.labels" . | nindent 4 }}
  annotations: {{- merge (dict "helm.sh/hook-weight" "-2") $hook | toYaml | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [pods]
    verbs: [list, get]
  - apiGroups: [""]
    resources: [pods/exec]
    verbs: [create, get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "gitlab-runner.labels" . | nindent 4 }}
  annotations: {{- merge (dict "helm.sh/hook-weight" "-1") $hook | toYaml | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ $name }}
    namespace: {{ .Release.Namespace | quote }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "gitlab-runner.labels" . | nindent 4 }}
  annotations: {{- merge (dict "helm.sh/hook-weight" "0") $hook | toYaml | nindent 4 }}
spec:
  backoffLimit: 3
  template:
    metadata:
      labels:
        app: {{ $name }}
    spec:
      serviceAccountName: {{ $name }}
      restartPolicy: Never
      {{- include "gitlab-runner.pullSecrets" . | nindent 6 }}
      securityContext: {{- toYaml .Values.podSecurityContext | nindent 8 }}
      containers:
        - name: drain
          image: {{ include "gitlab-runner.image" . }}
          imagePullPolicy: {{ .Values.imagePullPolicy }}
          args: [windlass, gitlab, drain, --selector, {{ default (printf "app=%s,release=%s" (include "gitlab-runner.fullname" .) .Release.Name) .drainSelector | quote }}, --port, {{ .Values.metrics.port | quote }}]
          securityContext: {{- toYaml .Values.securityContext | nindent 12 }}
          env:
            - name: HOME
              value: /tmp
{{- end }}
{{- end -}}
{{- /* Written by `npm run gen` from packages/gitlab/rbac/role.yaml. */ -}}
{{- define "gitlab-runner.rules" -}}
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["create", "get", "list", "watch", "delete"]
- apiGroups: [""]
  resources: ["pods/exec"]
  verbs: ["create", "get"]
- apiGroups: [""]
  resources: ["pods/log"]
  verbs: ["get"]
- apiGroups: [""]
  resources: ["secrets"]
  verbs: ["create", "get", "list", "patch", "delete"]
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  verbs: ["create", "get", "list", "patch", "delete"]
{{- end -}}
{{- /* Written by `npm run gen` from packages/gitlab/rbac/namespace-per-job.yaml. */ -}}
{{- define "gitlab-runner.namespaceRules" -}}
- apiGroups: [""]
  resources: ["namespaces"]
  verbs: ["create", "get", "delete"]
{{- end -}}
