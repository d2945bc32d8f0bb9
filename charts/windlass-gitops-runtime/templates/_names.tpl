{{/* Names, labels, images and environments. Names of objects are those of the chart gitops-runtime: a namespace has one runtime. */}}

{{/* Labels for selectors: dict root, component. */}}
{{- define "gitops.selectorLabels" -}}
app.kubernetes.io/name: {{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "gitops.labels" -}}
{{ include "gitops.selectorLabels" . }}
app.kubernetes.io/part-of: {{ .root.Chart.Name }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{/* Reference of an image: dict root, image. Images of gitops-runtime contain other programs, so the default replaces them. */}}
{{- define "gitops.image" -}}
{{- $default := .root.Values.image -}}
{{- $given := default dict .image -}}
{{- $isForeign := regexMatch "(^|/)(codefresh/|codefreshplugins/|nginx-unprivileged)" (default "" $given.repository) -}}
{{- $one := ternary dict $given $isForeign -}}
{{- $registry := default (default $default.registry $one.registry) .root.Values.global.imageRegistry -}}
{{- $digest := default (ternary $default.digest "" (and (not $one.tag) (not $one.repository))) $one.digest -}}
{{- with $registry -}}{{ . | trimSuffix "/" }}/{{- end -}}
{{ default $default.repository $one.repository }}
{{- if $digest -}}@{{ $digest }}{{- else -}}:{{ default (default .root.Chart.AppVersion $default.tag) $one.tag }}{{- end -}}
{{- end -}}
{{- define "gitops.pullPolicy" -}}
{{- default .root.Values.image.pullPolicy (default dict .image).pullPolicy -}}
{{- end -}}

{{- define "gitops.pullSecrets" -}}
{{- with .Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "gitops.noProxy" -}}
{{- list .Values.global.noProxy "localhost,127.0.0.1,.svc,.cluster.local,cap-app-proxy,$(KUBERNETES_SERVICE_HOST)" | compact | join "," -}}
{{- end -}}

{{/* Environment variables: dict root, env (of the values), extra (a YAML map of fixed ones, which those of the values override). */}}
{{- define "gitops.env" -}}
{{- $global := .root.Values.global -}}
{{- $all := .extra | fromYaml -}}
{{- if or $global.httpProxy $global.httpsProxy -}}
{{- with $global.httpProxy -}}{{- $_ := set $all "HTTP_PROXY" . -}}{{- end -}}
{{- with $global.httpsProxy -}}{{- $_ := set $all "HTTPS_PROXY" . -}}{{- end -}}
{{- $_ := set $all "NO_PROXY" (include "gitops.noProxy" .root) -}}
{{- end -}}
{{- if include "gitops.ca" .root -}}{{- $_ := set $all "NODE_EXTRA_CA_CERTS" "/etc/windlass/ca/ca.crt" -}}{{- end -}}
{{- range $name, $value := mergeOverwrite $all (deepCopy (default dict .env)) }}
- name: {{ $name }}
  {{- if kindIs "map" $value }}
  {{- toYaml $value | nindent 2 }}
  {{- else if kindIs "float64" $value }}
  value: {{ if eq (floor $value) $value }}{{ printf "%.0f" $value | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}
  {{- else }}
  value: {{ $value | toString | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Secret and key with CAs for the server, as JSON; empty without. */}}
{{- define "gitops.ca" -}}
{{- $ca := .Values.global.codefresh.tls.caCerts -}}
{{- if $ca.secretKeyRef -}}
{{ toJson (dict "name" $ca.secretKeyRef.name "key" $ca.secretKeyRef.key) }}
{{- else if $ca.secret.create -}}
{{ toJson (dict "name" "codefresh-tls-certs" "key" $ca.secret.key) }}
{{- end -}}
{{- end -}}
{{- define "gitops.caMount" -}}
{{- if include "gitops.ca" . }}
- { name: ca, mountPath: /etc/windlass/ca, readOnly: true }
{{- end }}
{{- end -}}
{{- define "gitops.caVolume" -}}
{{- with include "gitops.ca" . | fromJson }}
{{- if .name }}
- { name: ca, secret: { secretName: {{ .name }}, items: [{ key: {{ .key }}, path: ca.crt }] } }
{{- end }}
{{- end }}
{{- end -}}

{{/* Name of the Secret with the token of the runtime. */}}
{{- define "gitops.tokenSecret" -}}
{{- default "codefresh-token" .Values.global.runtime.tokenSecret -}}
{{- end -}}
{{- define "gitops.tokenVolume" -}}
- { name: token, secret: { secretName: {{ include "gitops.tokenSecret" . }} } }
{{- end -}}

{{/* Secret and key with the API key that registers the runtime, as JSON; empty without. */}}
{{- define "gitops.userToken" -}}
{{- $token := .Values.global.codefresh.userToken -}}
{{- if $token.secretKeyRef -}}
{{ toJson (dict "name" $token.secretKeyRef.name "key" $token.secretKeyRef.key) }}
{{- else if $token.token -}}
{{ toJson (dict "name" "codefresh-user-token" "key" "token") }}
{{- end -}}
{{- end -}}

{{/* Fields of every pod: dict root, grace (seconds), and component and values of several pods, which are spread over nodes. */}}
{{- define "gitops.podFields" -}}
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .grace }}
{{- include "gitops.pullSecrets" .root }}
{{- with .root.Values.podSecurityContext }}
{{- if .enabled }}
securityContext:
  runAsNonRoot: true
  {{- omit . "enabled" | toYaml | nindent 2 }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- end }}
{{- with .root.Values.global.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.global.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if and .values (gt (int (default dict .values).replicaCount) 1) }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "gitops.selectorLabels" . | nindent 8 }}
{{- end }}
{{- end -}}

{{/* Image and security context of a container: dict root, image. */}}
{{- define "gitops.containerFields" -}}
image: {{ include "gitops.image" . }}
imagePullPolicy: {{ include "gitops.pullPolicy" . }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: { drop: [ALL] }
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{/* Labels and annotations of pods: dict root, component, values. */}}
{{- define "gitops.podMetadata" -}}
labels:
  {{- include "gitops.labels" . | nindent 2 }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .values.podAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A PodDisruptionBudget, with several pods: dict root, component, values. */}}
{{- define "gitops.pdb" -}}
{{- if and .values.pdb.enabled (gt (int .values.replicaCount) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "gitops.labels" . | nindent 4 }}
spec:
  minAvailable: {{ .values.pdb.minAvailable }}
  selector:
    matchLabels: {{- include "gitops.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end -}}
