{{/* Pod of a hook: dict root, command, component, account, token and ca (JSON: name and key of a Secret). */}}
{{- define "gitops.hookPod" -}}
{{- $global := .root.Values.global -}}
{{- $ca := .ca | fromJson -}}
{{- $extra := include "gitops.hookEnv" .root -}}
{{- if eq .command "register-gitops-runtime" }}{{ $extra = printf "%s%s" $extra (include "gitops.argoHookEnv" .root) }}{{ end -}}
metadata:
  labels: {{- include "gitops.labels" . | nindent 4 }}
spec:
  restartPolicy: Never
  serviceAccountName: {{ .account }}
  {{- include "gitops.podFields" (dict "root" .root "grace" 10) | nindent 2 }}
  containers:
    - name: {{ .component }}
      {{- include "gitops.containerFields" (dict "root" .root "image" dict) | nindent 6 }}
      command: [node, dist/windlass.js, in-cluster, {{ .command }}]
      env:
        {{- include "gitops.env" (dict "root" .root "env" dict "extra" $extra) | nindent 8 }}
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        - { name: user-token, mountPath: /etc/windlass/user, readOnly: true }
        {{- if $ca.name }}
        - { name: ca, mountPath: /etc/windlass/ca, readOnly: true }
        {{- end }}
      resources: {{- toYaml .root.Values.installer.resources | nindent 8 }}
  volumes:
    - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
    # The key may be removed after the installation.
    {{- with .token | fromJson }}
    - { name: user-token, secret: { secretName: {{ .name }}, optional: true, items: [{ key: {{ .key }}, path: token }] } }
    {{- end }}
    {{- with $ca.name }}
    # It does not exist after an installation that was refused. Then the server is not reached, and the hook ends.
    - { name: ca, secret: { secretName: {{ . }}, optional: true, items: [{ key: {{ $ca.key }}, path: ca.crt }] } }
    {{- end }}
{{- end -}}

{{- define "gitops.hookEnv" -}}
WINDLASS_GITOPS_HOOK_SERVER_URL: {{ .Values.global.codefresh.url | trimSuffix "/" | quote }}
WINDLASS_GITOPS_HOOK_RUNTIME: {{ .Values.global.runtime.name | quote }}
WINDLASS_GITOPS_HOOK_ACCOUNT_ID: {{ .Values.global.codefresh.accountId | quote }}
WINDLASS_GITOPS_HOOK_TOKEN_PATH: /etc/windlass/user/token
WINDLASS_GITOPS_HOOK_SECRET: {{ include "gitops.tokenSecret" . }}
{{- if .Values.global.runtime.codefreshHosted }}
WINDLASS_GITOPS_HOOK_HOSTED: 'true'
{{- end }}
{{- $access := include "gitops.access" . }}
{{- $way := get (dict "ingress" .Values.global.runtime.ingress "httproute" .Values.global.runtime.httpRoute) $access }}
{{- if eq $access "tunnel" }}
WINDLASS_GITOPS_HOOK_TUNNEL: 'true'
{{- else }}
WINDLASS_GITOPS_HOOK_URL: {{ include "gitops.url" . | quote }}
WINDLASS_GITOPS_HOOK_ACCESS: {{ $access }}
{{- if and $way (or $way.skipValidation .Values.installer.skipValidation) }}
WINDLASS_GITOPS_HOOK_SKIP_VALIDATION: 'true'
{{- end }}
{{- end }}
{{- if .Values.installer.recover }}
WINDLASS_GITOPS_HOOK_RECOVER: 'true'
{{- end }}
{{- end -}}
