{{/* The permissions of each component. Those of the agent and the volumes are copies of packages/agent/rbac and packages/volumes/rbac; a test compares them. */}}

{{- define "windlass.runnerRules" -}}
- apiGroups: ['']
  resources: [pods]
  verbs: [create, get, list, watch, delete]
- apiGroups: ['']
  resources: [pods/log]
  verbs: [get]
- apiGroups: ['']
  resources: [secrets]
  verbs: [create, get, list, delete]
- apiGroups: ['']
  resources: [configmaps]
  verbs: [get]
- apiGroups: ['']
  resources: [secrets]
  resourceNames: [runnerconf]
  verbs: [patch]
- apiGroups: ['']
  resources: [persistentvolumeclaims]
  verbs: [create, get, list, watch, delete]
- apiGroups: ['']
  resources: [persistentvolumeclaims, persistentvolumeclaims/status]
  verbs: [patch]
- apiGroups: ['']
  resources: [events]
  verbs: [list]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, patch]
{{- end -}}

{{/* A Role (or, with cluster, a ClusterRole) and its binding: dict root, name, component, rules, extra, subject. */}}
{{- define "windlass.role" -}}
{{- $kind := ternary "ClusterRole" "Role" (default false .cluster) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ .name }}
  {{- if ne $kind "ClusterRole" }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels: {{- include "windlass.labels" . | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
rules:
  {{- .rules | nindent 2 }}
  {{- with .extra }}
  {{- tpl (toYaml .) $.root | nindent 2 }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ .name }}
  {{- if ne $kind "ClusterRole" }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels: {{- include "windlass.labels" . | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: {{ $kind }}, name: {{ .name }} }
subjects:
  - { kind: ServiceAccount, name: {{ .subject }}, namespace: {{ .root.Release.Namespace }} }
{{- end -}}

{{/* dict root, component, account (values), name. */}}
{{- define "windlass.serviceAccount" -}}
{{- if .account.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "windlass.account" . }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "windlass.labels" . | nindent 4 }}
  {{- with .account.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with include "windlass.pullSecretNames" .root }}
imagePullSecrets:
{{- . }}
{{- end }}
{{- end }}
{{- end -}}


{{/* Rules for Secrets that a component writes by name: dict names. Creation cannot be limited to a name. */}}
{{- define "windlass.ownSecretRule" -}}
- apiGroups: ['']
  resources: [secrets]
  resourceNames: {{ toJson .names }}
  verbs: [get, patch]
{{- end -}}

{{/* Additional rules of the registration: its Secret, and the Deployment that owns the Secret. */}}
{{- define "windlass.registerRules" -}}
{{ include "windlass.ownSecretRule" (dict "names" (list .name)) }}
- apiGroups: [apps]
  resources: [deployments]
  resourceNames: [{{ .name }}]
  verbs: [get]
{{- end -}}

{{- define "windlass.nodeRules" -}}
- apiGroups: ['']
  resources: [nodes]
  verbs: [get, list]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses]
  verbs: [get]
{{- end -}}

{{/* Rules with which the agent reports the disks of builds, and requests the removal of one. */}}
{{- define "windlass.diskRules" -}}
- apiGroups: ['']
  resources: [persistentvolumes]
  verbs: [get, list, patch]
{{- end -}}

{{- define "windlass.provisionerClusterRules" -}}
- apiGroups: ['']
  resources: [persistentvolumes]
  verbs: [create, get, list, watch, patch, delete]
- apiGroups: ['']
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, patch]
- apiGroups: ['']
  resources: [persistentvolumeclaims/status]
  verbs: [patch]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses]
  verbs: [list, watch]
- apiGroups: ['']
  resources: [nodes]
  verbs: [get, list, watch]
- apiGroups: ['']
  resources: [pods]
  verbs: [list, watch]
- apiGroups: ['']
  resources: [events]
  verbs: [create, get, patch]
{{- end -}}

{{/* Rules in its own namespace: its lease, and the pods that create and remove folders of nodes. */}}
{{- define "windlass.provisionerRules" -}}
- apiGroups: ['']
  resources: [pods]
  verbs: [create, get, delete]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, patch]
{{- end -}}

{{- define "windlass.nodeDiskCleanerRules" -}}
- apiGroups: ['']
  resources: [persistentvolumes]
  verbs: [get, list, patch, delete]
{{- end -}}

{{- define "windlass.cleanerRules" -}}
- apiGroups: ['']
  resources: [persistentvolumes]
  verbs: [get, list, patch]
{{- end -}}

{{/* Rules for leftovers of builds in the namespace of the release. */}}
{{- define "windlass.leftoverRules" -}}
- apiGroups: ['']
  resources: [persistentvolumeclaims, pods]
  verbs: [list, delete]
{{- end -}}

{{- define "windlass.certificateRules" -}}
- apiGroups: ['']
  resources: [secrets]
  verbs: [create]
{{ include "windlass.ownSecretRule" (dict "names" (list "codefresh-certs-server")) }}
- apiGroups: ['']
  resources: [configmaps]
  resourceNames: [codefresh-dind-config]
  verbs: [get]
{{- end -}}

{{- define "windlass.cleanupRules" -}}
- apiGroups: ['']
  resources: [secrets]
  resourceNames: {{ toJson .names }}
  verbs: [get, delete]
{{- if .proxy }}
# Git integrations, and the Git tokens of users.
- apiGroups: ['']
  resources: [secrets, configmaps]
  verbs: [list, delete]
{{- end }}
{{- end -}}

{{/* Rules of packages/monitor/rbac; in one namespace only those of its objects. */}}
{{- define "windlass.monitorRules" -}}
- apiGroups: ['']
  resources: [{{ if not .Values.monitor.rbac.namespaced }}namespaces, nodes, {{ end }}persistentvolumeclaims, {{ if not .Values.monitor.rbac.namespaced }}persistentvolumes, {{ end }}pods, services]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [daemonsets, deployments, statefulsets]
  verbs: [list, watch]
- apiGroups: [batch]
  resources: [cronjobs, jobs]
  verbs: [list, watch]
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [list, watch]
{{- if .Values.monitor.helm }}
- apiGroups: ['']
  resources: [secrets]
  verbs: [list, watch]
{{- end }}
{{- end -}}

{{- define "windlass.eventRules" -}}
- apiGroups: ['']
  resources: [events]
  verbs: [get, list, watch]
{{- end -}}
