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
