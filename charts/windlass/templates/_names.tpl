{{/* Names, labels, image and address of the server. */}}

{{- define "windlass.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $default := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $default .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "windlass.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end -}}

{{- define "windlass.labels" -}}
{{ include "windlass.selectorLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "windlass.image" -}}
{{- with .Values.image.registry }}{{ . | trimSuffix "/" }}/{{ end -}}
{{ .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end -}}
{{- end -}}

{{- define "windlass.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "windlass.scheme" -}}
{{- ternary "https" "http" (or (ne .Values.tls.secretName "") (and .Values.ingress.enabled (ne .Values.ingress.tlsSecret ""))) -}}
{{- end -}}
{{- define "windlass.url" -}}
{{- if .Values.url -}}
{{ .Values.url | trimSuffix "/" }}
{{- else if .Values.ingress.enabled -}}
{{ include "windlass.scheme" . }}://{{ required "ingress.host is required" .Values.ingress.host }}
{{- else -}}
{{ include "windlass.scheme" . }}://{{ include "windlass.fullname" . }}.{{ .Release.Namespace }}.svc{{ if ne (int .Values.service.port) (ternary 443 80 (ne .Values.tls.secretName "")) }}:{{ .Values.service.port }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "windlass.hasPostgres" -}}
{{- if or .Values.database.url .Values.database.urlSecretKeyRef -}}true{{- end -}}
{{- end -}}

{{/* The pod keeps nothing if PostgreSQL has the data and S3 the logs. */}}
{{- define "windlass.hasVolume" -}}
{{- if and .Values.persistence.enabled (not (and (include "windlass.hasPostgres" .) .Values.logs.url)) -}}true{{- end -}}
{{- end -}}

{{- define "windlass.podSecurity" -}}
{{- if .Values.podSecurityContext.enabled }}
securityContext:
  runAsNonRoot: true
  {{- omit .Values.podSecurityContext "enabled" | toYaml | nindent 2 }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- end -}}
{{- define "windlass.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: { drop: [ALL] }
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{/* Values of secrets in `settings` and `env` would be readable in the pod and in the release. */}}
{{- define "windlass.refuseSecrets" -}}
{{- range $key := list "MASTER_KEY" "DATABASE_URL" "BOOTSTRAP_CODE" "OIDC_CLIENT_SECRET" }}
{{- if hasKey $.Values.settings $key }}
{{- fail (printf "settings.%s is a secret: use masterKey.secretKeyRef, database.urlSecretKeyRef, bootstrap.codeSecretKeyRef or a valueFrom.secretKeyRef in env" $key) }}
{{- end }}
{{- $name := printf "WINDLASS_SERVER_%s" $key }}
{{- if and (hasKey $.Values.env $name) (not (kindIs "map" (get $.Values.env $name))) }}
{{- fail (printf "env.WINDLASS_SERVER_%s is a secret: use masterKey.secretKeyRef, database.urlSecretKeyRef, bootstrap.codeSecretKeyRef or a valueFrom.secretKeyRef in env" $key) }}
{{- end }}
{{- end }}
{{- range $key := list "AWS_SECRET_ACCESS_KEY" "AWS_SESSION_TOKEN" "PGPASSWORD" }}
{{- if and (hasKey $.Values.env $key) (not (kindIs "map" (get $.Values.env $key))) }}
{{- fail (printf "env.%s is a secret: use valueFrom.secretKeyRef" $key) }}
{{- end }}
{{- end }}
{{- end -}}
