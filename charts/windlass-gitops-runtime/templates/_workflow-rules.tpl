{{- /* Written by `npm run gen` from packages/app-proxy/rbac/workflows-role.yaml. */ -}}
{{- define "gitops.workflowRules" -}}
- apiGroups: ["argoproj.io"]
  resources: ["workflows"]
  verbs: ["get", "list", "create", "patch", "delete"]
- apiGroups: ["argoproj.io"]
  resources: ["workflowtemplates"]
  verbs: ["get"]
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["list", "delete"]
- apiGroups: [""]
  resources: ["pods/log"]
  verbs: ["get"]
{{- end -}}
