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
