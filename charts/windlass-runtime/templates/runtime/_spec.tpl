{{/* The specification of a runtime in the format of Codefresh: dict root, runtime (values), name. */}}

{{/* Not empty if the daemon runs without root: by the value, or by the tag of an image in values of cf-runtime. */}}
{{- define "windlass.isRootless" -}}
{{- $dind := .Values.runtime.dind -}}
{{- $foreign := hasPrefix "codefresh/" (default "" $dind.image.repository) -}}
{{- if or $dind.rootless.enabled (and $foreign (hasSuffix "-rootless" (toString $dind.image.tag))) -}}true{{- end -}}
{{- end -}}

{{- define "windlass.dindImage" -}}
{{- $image := .Values.runtime.dind.image -}}
{{- $repository := "windlass/dind" -}}
{{- if include "windlass.isRootless" . -}}
{{- $image = .Values.runtime.dind.rootless.image -}}
{{- $repository = "windlass/dind-rootless" -}}
{{- end -}}
{{- include "windlass.image" (dict "root" . "image" $image "default" (dict "repository" $repository "pullPolicy" "IfNotPresent" "registry" .Values.image.registry)) -}}
{{- end -}}

{{/* Environment variables of engine or daemon as a map of strings: proxies, CA, global ones, its own. */}}
{{- define "windlass.specEnv" -}}
{{- $all := dict -}}
{{- range $name, $value := include "windlass.proxyEnv" (dict "root" .root "inPod" false) | fromYaml }}{{ $_ := set $all $name $value }}{{ end -}}
{{- if include "windlass.hasCa" .root }}{{ $_ := set $all .caVariable .caValue }}{{ end -}}
{{- range $name, $value := .root.Values.global.env }}{{ $_ := set $all $name $value }}{{ end -}}
{{- range $name, $value := .env }}{{ $_ := set $all $name $value }}{{ end -}}
{{- range $name, $value := $all }}
{{- if kindIs "map" $value }}{{ fail (printf "%s must be a string; use runtime.engine.userEnvVars for valueFrom" $name) }}{{ end }}
{{- if not (kindIs "invalid" $value) }}
{{ $name }}: {{ tpl (include "windlass.text" $value) $.root | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Volumes by name, including that of the CA: dict root, own, key (volumes or mounts). */}}
{{- define "windlass.specVolumes" -}}
{{- $all := deepCopy (default dict .own) -}}
{{- if include "windlass.hasCa" .root }}
{{- $_ := set $all "windlass-ca" (merge (dict "name" "windlass-ca") (include "windlass.caVolume" .root | fromYaml)) -}}
{{- end -}}
{{- if .config }}
{{- $_ := set $all "dind-config" (dict "name" "dind-config" "configMap" (dict "name" "codefresh-dind-config")) -}}
{{- end -}}
{{- if $all }}{{ toYaml $all }}{{ end -}}
{{- end -}}
{{- define "windlass.specMounts" -}}
{{- $all := deepCopy (default dict .own) -}}
{{- if include "windlass.hasCa" .root }}
{{- $_ := set $all "windlass-ca" (dict "name" "windlass-ca" "mountPath" "/etc/windlass/ca" "readOnly" true) -}}
{{- end -}}
{{- if .config }}
{{- $_ := set $all "dind-config" (dict "name" "dind-config" "mountPath" "/etc/docker/daemon.json" "subPath" "daemon.json" "readOnly" true) -}}
{{- end -}}
{{- if $all }}{{ toYaml $all }}{{ end -}}
{{- end -}}

{{/* Requests and limits; null requests mean none. */}}
{{- define "windlass.specResources" -}}
{{- with .limits }}
limits: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .requests }}
requests: {{- toYaml .requests | nindent 2 }}
{{- else }}
requests: null
{{- end }}
{{- end -}}

{{- define "windlass.specCluster" -}}
namespace: {{ .root.Release.Namespace }}
serviceAccount: {{ .account }}
{{- if .root.Values.runtime.agent }}
clusterProvider:
  {{- with .root.Values.global.accountId }}
  accountId: {{ . | quote }}
  {{- end }}
  selector: {{ default (include "windlass.runtimeName" .root) .root.Values.global.context | quote }}
{{- else }}
inCluster: {{ .runtime.inCluster }}
{{- with .runtime.kubeconfigFilePath }}
kubeconfigFilePath: {{ . | quote }}
{{- end }}
{{- with .runtime.kubeconfigName }}
name: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Fields of both pods: dict of their values, and root. */}}
{{- define "windlass.specPod" -}}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.podAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.podLabels }}
labels: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.schedulerName }}
schedulerName: {{ . }}
{{- end }}
{{- with .values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .values.dnsConfig }}
dnsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
{{- end -}}

{{- define "windlass.engineSpec" -}}
{{- $engine := .runtime.engine -}}
type: KubernetesPod
image: {{ include "windlass.image" (dict "root" .root "image" $engine.image) }}
imagePullPolicy: {{ include "windlass.pullPolicy" (dict "root" .root "image" $engine.image) }}
{{- /* Commands for the cf-runtime engine start another program. */}}
{{- if and $engine.command (not (has (join " " $engine.command) (list "npm run start" "node dist/server/index.js"))) }}
command: {{- toYaml $engine.command | nindent 2 }}
{{- end }}
cluster:
  {{- include "windlass.specCluster" (dict "root" .root "runtime" .runtime "account" $engine.serviceAccount "nodeSelector" $engine.nodeSelector) | nindent 2 }}
{{- with include "windlass.specEnv" (dict "root" .root "env" $engine.env "caVariable" "NODE_EXTRA_CA_CERTS" "caValue" "/etc/windlass/ca/ca.crt") }}
envVars: {{- . | nindent 2 }}
{{- end }}
{{- with $engine.userEnvVars }}
userEnvVars: {{- tpl (toYaml .) $.root | nindent 2 }}
{{- end }}
resources:
  {{- include "windlass.specResources" $engine.resources | nindent 2 }}
{{- with $engine.workflowLimits }}
workflowLimits:
  {{- range $name, $value := . }}
  {{ $name }}: {{ include "windlass.text" $value }}
  {{- end }}
{{- end }}
{{- with include "windlass.specVolumes" (dict "root" .root "own" $engine.volumes) }}
volumes: {{- . | nindent 2 }}
{{- end }}
{{- with include "windlass.specMounts" (dict "root" .root "own" $engine.volumeMounts) }}
volumeMounts: {{- . | nindent 2 }}
{{- end }}
{{- include "windlass.specPod" (dict "values" $engine) | nindent 0 }}
{{- end -}}

{{- define "windlass.dindSpec" -}}
{{- $dind := .runtime.dind -}}
{{- $mounts := deepCopy (default dict $dind.volumeMounts) -}}
{{- $podSecurity := deepCopy (default dict $dind.podSecurityContext) -}}
{{- $security := deepCopy (default dict $dind.containerSecurityContext) -}}
{{- $image := $dind.image -}}
{{- if include "windlass.isRootless" .root -}}
{{- $image = $dind.rootless.image -}}
{{- $mounts = merge $mounts (dict "dind" (dict "name" "dind" "mountPath" "/home/rootless/.local/share/docker")) -}}
{{- $podSecurity = merge $podSecurity (dict "fsGroup" 1000 "fsGroupChangePolicy" "OnRootMismatch") -}}
{{- $security = merge $security (dict "privileged" true "runAsUser" 1000 "runAsGroup" 1000) -}}
{{- end -}}
type: DindKubernetesPod
dindImage: {{ include "windlass.dindImage" .root }}
imagePullPolicy: {{ default "IfNotPresent" $image.pullPolicy }}
userAccess: {{ $dind.userAccess }}
cluster:
  {{- include "windlass.specCluster" (dict "root" .root "runtime" .runtime "account" $dind.serviceAccount "nodeSelector" $dind.nodeSelector) | nindent 2 }}
{{- with include "windlass.specEnv" (dict "root" .root "env" $dind.env "caVariable" "SSL_CERT_DIR" "caValue" "/etc/ssl/certs:/etc/windlass/ca") }}
envVars: {{- . | nindent 2 }}
{{- end }}
{{- with $dind.resources }}
defaultDindResources:
  {{- include "windlass.specResources" . | nindent 2 }}
{{- end }}
{{- with $dind.userVolumes }}
userVolumes: {{- tpl (toYaml .) $.root | nindent 2 }}
{{- end }}
{{- with $dind.userVolumeMounts }}
userVolumeMounts: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "windlass.specVolumes" (dict "root" .root "own" $dind.volumes "config" true) }}
volumes: {{- . | nindent 2 }}
{{- end }}
{{- with include "windlass.specMounts" (dict "root" .root "own" $mounts "config" true) }}
volumeMounts: {{- . | nindent 2 }}
{{- end }}
{{- with $podSecurity }}
podSecurityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $security }}
containerSecurityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $dind.volumePermissions.enabled }}
initContainers:
  - name: volume-permissions
    image: {{ include "windlass.image" (dict "root" .root "image" $dind.volumePermissions.image) }}
    command: [chown, '{{ default 1000 $podSecurity.runAsUser }}:{{ default 1000 $podSecurity.fsGroup }}', /home/rootless/.local/share/docker]
    securityContext: {{- toYaml $dind.volumePermissions.securityContext | nindent 6 }}
    resources: {{- toYaml $dind.volumePermissions.resources | nindent 6 }}
    volumeMounts:
      - { name: dind, mountPath: /home/rootless/.local/share/docker }
{{- end }}
pvcs:
  dind:
    name: {{ $dind.pvcs.dind.name }}
    storageClassName: {{ default (include "windlass.storageClassName" .root) (tpl (default "" $dind.pvcs.dind.storageClassName) .root) }}
    volumeSize: {{ $dind.pvcs.dind.volumeSize }}
    reuseVolumeSelector: {{ $dind.pvcs.dind.reuseVolumeSelector | quote }}
    reuseVolumeSortOrder: {{ $dind.pvcs.dind.reuseVolumeSortOrder | quote }}
    {{- with $dind.pvcs.dind.annotations }}
    annotations: {{- toYaml . | nindent 6 }}
    {{- end }}
{{- include "windlass.specPod" (dict "values" $dind) | nindent 0 }}
{{- end -}}

{{- define "windlass.runtimeDocument" -}}
kind: runtime
metadata:
  name: {{ .name | quote }}
  agent: {{ .root.Values.runtime.agent }}
spec:
  type: kubernetes
  {{- if .root.Values.runtime.agent }}
  agent: {{ include "windlass.agentName" .root | quote }}
  {{- end }}
  {{- if .isDefault }}
  isDefault: true
  {{- end }}
  description: {{ default (printf "Runs in the namespace %s, installed by the release %s" .root.Release.Namespace .root.Release.Name) .runtime.description | quote }}
  {{- with .runtime.runtimeExtends }}
  extends: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if not .root.Values.runtime.agent }}
  systemHybrid: true
  accounts: {{- toYaml .runtime.accounts | nindent 4 }}
  {{- end }}
  {{- with .appProxy }}
  appProxy: { externalIP: {{ . | quote }} }
  {{- end }}
  runtimeScheduler:
    {{- include "windlass.engineSpec" . | nindent 4 }}
  dockerDaemonScheduler:
    {{- include "windlass.dindSpec" . | nindent 4 }}
{{- end -}}
