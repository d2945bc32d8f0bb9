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
