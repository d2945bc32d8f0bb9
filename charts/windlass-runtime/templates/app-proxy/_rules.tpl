{{- /* Written by `npm run gen` from packages/app-proxy/rbac/role.yaml. */ -}}
{{- define "windlass.appProxyRules" -}}
- apiGroups: [""]
  resources: ["secrets", "configmaps"]
  verbs: ["get", "list", "create", "patch", "delete"]
{{- end -}}
