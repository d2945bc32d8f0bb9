{{/* The Argo CD beside the runtime, which this chart does not bring. */}}

{{/* Its server as JSON: service, port, protocol and rootPath, without a slash at its end. */}}
{{- define "gitops.argoServer" -}}
{{- $argo := dig "argo-cd" "server" dict (default dict .Values.global.integrations) -}}
{{- $port := default (ternary 443 80 (eq (default "" $argo.protocol) "https")) $argo.port | int -}}
{{- $protocol := default (ternary "https" "http" (eq $port 443)) $argo.protocol -}}
{{- $rootPath := printf "/%s" (default "" $argo.rootpath | trimAll "/") | trimSuffix "/" -}}
{{ toJson (dict "service" (default "argocd-server" $argo.svc) "port" (toString $port) "protocol" $protocol "rootPath" $rootPath) }}
{{- end -}}

{{/* Secret and key with the token of Argo CD, as JSON; empty without. */}}
{{- define "gitops.argoTokenRef" -}}
{{- $auth := dig "argo-cd" "server" "auth" dict (default dict .Values.global.integrations) -}}
{{- if and (eq (default "password" $auth.type) "token") (dig "tokenSecretKeyRef" "name" "" $auth) -}}
{{ toJson (dict "name" $auth.tokenSecretKeyRef.name "key" (default "token" $auth.tokenSecretKeyRef.key)) }}
{{- end -}}
{{- end -}}

{{/* Secret and key with PEM certificates for the server, as JSON; empty without. */}}
{{- define "gitops.argoCaRef" -}}
{{- $argo := dig "argo-cd" "server" dict (default dict .Values.global.integrations) -}}
{{- if and (include "gitops.argoTokenRef" .) (dig "caSecretKeyRef" "name" "" $argo) -}}
{{ toJson (dict "name" $argo.caSecretKeyRef.name "key" (default "ca.crt" $argo.caSecretKeyRef.key)) }}
{{- end -}}
{{- end -}}

{{/* Variables of the hook that checks its version. */}}
{{- define "gitops.argoHookEnv" -}}
{{- $check := .Values.installer.argoCdVersionCheck -}}
{{- $argo := dig "argo-cd" "server" dict (default dict .Values.global.integrations) -}}
{{- if $check.enabled }}
{{- $labels := list -}}
{{- range $label, $value := $check.argoServerLabels }}{{ $labels = append $labels (printf "%s=%s" $label $value) }}{{ end }}
WINDLASS_GITOPS_HOOK_ARGO_CD_LABELS: {{ join "," $labels | quote }}
{{- if or $argo.svc (include "gitops.argoTokenRef" .) }}
{{- $server := include "gitops.argoServer" . | fromJson }}
WINDLASS_GITOPS_HOOK_ARGO_CD_SERVICE: {{ $server.service | quote }}
WINDLASS_GITOPS_HOOK_ARGO_CD_PORT: {{ $server.port | quote }}
WINDLASS_GITOPS_HOOK_ARGO_CD_PROTOCOL: {{ $server.protocol }}
WINDLASS_GITOPS_HOOK_ARGO_CD_ROOT_PATH: {{ $server.rootPath | quote }}
{{- end }}
{{- end }}
{{- end -}}
