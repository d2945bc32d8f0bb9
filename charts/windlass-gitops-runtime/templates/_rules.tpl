{{- /* Written by `npm run gen` from packages/app-proxy/rbac/role.yaml. */ -}}
{{- define "gitops.appProxyRules" -}}
- apiGroups: [""]
  resources: ["secrets", "configmaps"]
  verbs: ["get", "list", "create", "patch", "delete"]
- apiGroups: ["argoproj.io"]
  resources: ["applications"]
  verbs: ["get", "list", "watch", "patch", "delete"]
{{- end -}}
{{- /* Written by `npm run gen` from packages/reporter/rbac/role.yaml. */ -}}
{{- define "gitops.reporterRules" -}}
- apiGroups: ["argoproj.io"]
  resources: ["applications", "rollouts", "workflows"]
  verbs: ["get", "list", "watch"]
- apiGroups: ["apps"]
  resources: ["replicasets"]
  verbs: ["get", "list", "watch"]
{{- end -}}
