{{/* Container of the router: dict root, host (the address to listen on; empty for all), trusted (addresses). */}}
{{- define "gitops.routerContainer" -}}
{{- $values := index .root.Values "internal-router" -}}
- name: router
  {{- include "gitops.containerFields" (dict "root" .root "image" $values.image) | nindent 2 }}
  command: [node, dist/windlass.js, router, run]
  ports:
    {{- if not .host }}
    - { name: http, containerPort: 8080, protocol: TCP }
    {{- end }}
    - { name: router-health, containerPort: 8081, protocol: TCP }
  readinessProbe:
    httpGet: { path: /readyz, port: router-health }
    periodSeconds: 5
    timeoutSeconds: 5
  livenessProbe:
    httpGet: { path: /healthz, port: router-health }
    initialDelaySeconds: 10
    periodSeconds: 20
    timeoutSeconds: 10
    failureThreshold: 10
  env:
    {{- include "gitops.env" (dict "root" .root "env" $values.env "extra" (include "gitops.routerEnv" .)) | nindent 4 }}
  volumeMounts:
    - { name: tmp, mountPath: /tmp }
    {{- include "gitops.caMount" .root | nindent 4 }}
  resources: {{- toYaml $values.resources | nindent 4 }}
{{- end -}}

{{- define "gitops.routerEnv" -}}
{{- $values := index .root.Values "internal-router" -}}
WINDLASS_ROUTER_PORT: '8080'
WINDLASS_ROUTER_METRICS_PORT: '8081'
{{- with .host }}
WINDLASS_ROUTER_HOST: {{ . }}
{{- end }}
WINDLASS_ROUTER_APP_PROXY_URL: http://cap-app-proxy:3017
WINDLASS_ROUTER_CLUSTER_DOMAIN: {{ $values.clusterDomain }}
WINDLASS_ROUTER_WEBHOOK_NAMESPACES: {{ default (list .root.Release.Namespace) $values.webhookNamespaces | join "," | quote }}
{{- with .trusted }}
WINDLASS_ROUTER_TRUSTED_PROXIES: {{ join "," . | quote }}
{{- end }}
{{- with $values.workflowsUrl }}
WINDLASS_ROUTER_WORKFLOWS_URL: {{ . | quote }}
{{- end }}
{{- end -}}
