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
