{{/* Names, labels and helpers of several templates. Every helper that renders an environment takes a dict with `root`. */}}

{{- define "windlass.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $default := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (or (contains $name .Release.Name) (empty .Values.nameOverride)) -}}
{{- default $default .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of a component: dict root, component, and optionally name (an override) and max. */}}
{{- define "windlass.component" -}}
{{- $max := default 63 .max | int -}}
{{- $full := include "windlass.fullname" .root | trunc (int (sub (sub $max 1) (len .component))) | trimSuffix "-" -}}
{{- default (printf "%s-%s" $full .component) .name | trunc $max | trimSuffix "-" -}}
{{- end -}}

{{- define "windlass.runnerName" -}}
{{- include "windlass.component" (dict "root" . "component" "runner" "name" .Values.runner.name) -}}
{{- end -}}
{{- define "windlass.provisionerName" -}}
{{- include "windlass.component" (dict "root" . "component" "volume-provisioner" "name" .Values.volumeProvisioner.name) -}}
{{- end -}}

{{/* Labels for selectors: dict root, component. */}}
{{- define "windlass.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
codefresh.io/application: {{ .component }}
{{- end -}}

{{- define "windlass.labels" -}}
{{ include "windlass.selectorLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{- define "windlass.context" -}}
{{- required "global.context is required: the name of this cluster" .Values.global.context -}}
{{- end -}}
{{- define "windlass.agentName" -}}
{{- if .Values.global.agentName -}}{{ .Values.global.agentName }}{{- else -}}{{ printf "%s_%s" (include "windlass.context" .) .Release.Namespace }}{{- end -}}
{{- end -}}
{{- define "windlass.runtimeName" -}}
{{- $name := default "" .Values.global.runtimeName -}}
{{- if not $name -}}{{- $name = printf "%s/%s" (include "windlass.context" .) .Release.Namespace -}}{{- end -}}
{{- if and (not .Values.runtime.agent) (not (hasPrefix "system/" $name)) -}}
{{- fail (printf "global.runtimeName is %q, but the name of a runtime without an agent must begin with system/" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* The name of a runtime as an object name. */}}
{{- define "windlass.normalized" -}}
{{- . | lower | replace "/" "-" | replace "@" "-" | replace ":" "-" | replace "_" "-" | replace "." "-" | trunc 48 | trimSuffix "-" -}}
{{- end -}}

{{- define "windlass.serverUrl" -}}
{{- required "global.codefreshHost is required: the URL of the server" .Values.global.codefreshHost | trimSuffix "/" -}}
{{- end -}}

{{- define "windlass.storageClassName" -}}
{{- $name := default (printf "dind-local-volumes-runner-%s" .Release.Namespace) .Values.storage.fullnameOverride -}}
{{- if .Values.storage.hashedName -}}
{{- $name = printf "%s-%s" ($name | trunc 50 | trimSuffix "-") (printf "%s%s" (include "windlass.storageParameters" .) .Values.storage.volumeBindingMode | sha256sum | trunc 8) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "windlass.provisionerId" -}}
codefresh.io/dind-volume-provisioner-runner-{{ .Release.Namespace }}
{{- end -}}

{{/* Reference of an image: dict root, image, and optionally default (an image whose fields are used for missing ones). Images of cf-runtime contain other programs, so the default replaces them. */}}
{{- define "windlass.image" -}}
{{- $given := default dict .image -}}
{{- $default := default .root.Values.image .default -}}
{{- $foreign := hasPrefix "codefresh/" (default "" $given.repository) -}}
{{- $one := ternary $default $given $foreign -}}
{{- $repository := default $default.repository $one.repository -}}
{{- $registry := default (default $default.registry $one.registry) .root.Values.global.imageRegistry -}}
{{- if .registry -}}{{- $registry = .registry -}}{{- end -}}
{{- $version := printf ":%s" (default (default .root.Chart.AppVersion $default.tag) $one.tag | toString) -}}
{{- $digest := default (ternary $default.digest "" (and (not $one.tag) (not $one.repository))) $one.digest -}}
{{- if $digest -}}{{- $version = printf "@%s" $digest -}}{{- end -}}
{{- with $registry -}}{{ . | trimSuffix "/" }}/{{- end -}}{{ $repository }}{{ $version }}
{{- end -}}
{{- define "windlass.pullPolicy" -}}
{{- default (default .root.Values.image .default).pullPolicy (default dict .image).pullPolicy -}}
{{- end -}}

{{- define "windlass.pullSecretNames" -}}
{{- range .Values.global.imagePullSecrets }}
- name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
{{- end -}}
{{- end -}}
{{- define "windlass.pullSecrets" -}}
{{- with include "windlass.pullSecretNames" . }}
imagePullSecrets:
{{- . }}
{{- end -}}
{{- end -}}

{{/* Environment variables of a map of values: dict root, env. A value is a string, a number, a boolean, or a map with valueFrom; null removes a variable. */}}
{{- define "windlass.envList" -}}
{{- $root := .root -}}
{{- range $name, $value := .env }}
{{- if kindIs "map" $value }}
- name: {{ $name }}
  {{- tpl (toYaml $value) $root | nindent 2 }}
{{- else if not (kindIs "invalid" $value) }}
- name: {{ $name }}
  value: {{ tpl (include "windlass.text" $value) $root | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Formats a number of a values file, which is a float: a million would be rendered as 1e+06. */}}
{{- define "windlass.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{ printf "%.0f" . }}{{- else -}}{{ . | toString }}{{- end -}}
{{- end -}}

{{- define "windlass.noProxy" -}}
{{- list .Values.global.proxy.noProxy "localhost,127.0.0.1,.svc,.cluster.local,dind,.dind" (printf ".dind.%s" .Release.Namespace) | compact | join "," -}}
{{- end -}}

{{/* The six variables of a proxy as a map; with `inPod`, Kubernetes fills in the address of the API server. */}}
{{- define "windlass.proxyEnv" -}}
{{- $proxy := .root.Values.global.proxy -}}
{{- $none := include "windlass.noProxy" .root -}}
{{- if .inPod -}}{{- $none = printf "%s,$(KUBERNETES_SERVICE_HOST)" $none -}}{{- end -}}
{{- if or $proxy.httpProxy $proxy.httpsProxy }}
{{- with $proxy.httpProxy }}
HTTP_PROXY: {{ . | quote }}
http_proxy: {{ . | quote }}
{{- end }}
{{- with $proxy.httpsProxy }}
HTTPS_PROXY: {{ . | quote }}
https_proxy: {{ . | quote }}
{{- end }}
NO_PROXY: {{ $none | quote }}
no_proxy: {{ $none | quote }}
{{- end }}
{{- end -}}

{{- define "windlass.hasCa" -}}
{{- if or .Values.global.caBundle .Values.global.caBundleSecretKeyRef .Values.global.caBundleConfigMapKeyRef -}}true{{- end -}}
{{- end -}}
{{- define "windlass.caVolume" -}}
{{- $secret := .Values.global.caBundleSecretKeyRef -}}
{{- $map := .Values.global.caBundleConfigMapKeyRef -}}
{{- if $secret }}
secret: { secretName: {{ $secret.name }}, items: [{ key: {{ $secret.key }}, path: ca.crt }] }
{{- else if $map }}
configMap: { name: {{ $map.name }}, items: [{ key: {{ $map.key }}, path: ca.crt }] }
{{- else }}
configMap: { name: {{ include "windlass.component" (dict "root" . "component" "ca") }} }
{{- end }}
{{- end -}}

{{/* Environment variables of every container: dict root, env (its own), extra (fixed ones, as list items, which its own may override). */}}
{{- define "windlass.env" -}}
{{- $all := dict -}}
{{- range $name, $value := include "windlass.proxyEnv" (dict "root" .root "inPod" true) | fromYaml -}}{{- $_ := set $all $name $value -}}{{- end -}}
{{- if include "windlass.hasCa" .root -}}{{- $_ := set $all "NODE_EXTRA_CA_CERTS" "/etc/windlass/ca/ca.crt" -}}{{- end -}}
{{- range $name, $value := .root.Values.global.env -}}{{- $_ := set $all $name $value -}}{{- end -}}
{{- range $name, $value := default dict .env -}}{{- $_ := set $all $name $value -}}{{- end -}}
{{- range default "" .extra | fromYamlArray }}
{{- if not (hasKey $all .name) }}
{{ toYaml (list .) }}
{{- end }}
{{- end }}
{{- include "windlass.envList" (dict "root" .root "env" $all) }}
{{- end -}}

{{- define "windlass.caMount" -}}
{{- if include "windlass.hasCa" . }}
- { name: ca, mountPath: /etc/windlass/ca, readOnly: true }
{{- end }}
{{- end -}}
{{- define "windlass.caVolumeItem" -}}
{{- if include "windlass.hasCa" . }}
- name: ca
  {{- include "windlass.caVolume" . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Pod security context of the level `restricted`: dict context (a podSecurityContext of the values). */}}
{{- define "windlass.podSecurity" -}}
{{- $own := omit (default dict .context) "enabled" -}}
{{- if (default dict .context).enabled }}
securityContext:
  runAsNonRoot: {{ ne (toString $own.runAsUser) "0" }}
  {{- toYaml $own | nindent 2 }}
  seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- end -}}
{{- define "windlass.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  {{- if .nonRoot }}
  runAsNonRoot: true
  seccompProfile: { type: RuntimeDefault }
  {{- end }}
  capabilities: { drop: [ALL] }
{{- end -}}

{{/* Scheduling fields: dict of values with nodeSelector, tolerations, affinity. */}}
{{- define "windlass.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Secret and key with the user's API key; empty if there is none. */}}
{{- define "windlass.userTokenSecret" -}}
{{- if .Values.global.codefreshTokenSecretKeyRef -}}
{{ toJson (dict "name" .Values.global.codefreshTokenSecretKeyRef.name "key" .Values.global.codefreshTokenSecretKeyRef.key) }}
{{- else if .Values.global.codefreshToken -}}
{{ toJson (dict "name" "codefresh-user-token" "key" "codefresh-api-token") }}
{{- end -}}
{{- end -}}
{{/* Secret and key with the agent's token. */}}
{{- define "windlass.agentTokenSecret" -}}
{{- if .Values.global.agentTokenSecretKeyRef -}}
{{ toJson (dict "name" .Values.global.agentTokenSecretKeyRef.name "key" .Values.global.agentTokenSecretKeyRef.key) }}
{{- else -}}
{{ toJson (dict "name" (include "windlass.runnerName" .) "key" "agent-codefresh-token") }}
{{- end -}}
{{- end -}}

{{/* Name of the service account of a component: dict account (its values), name. */}}
{{- define "windlass.account" -}}
{{- if .account.create -}}{{ default .name .account.name }}{{- else -}}{{ default "default" .account.name }}{{- end -}}
{{- end -}}
