{{/* The archive of workflow logs, which the app-proxy reads and Argo Workflows writes. */}}

{{/* Its store as JSON: url, endpoint, bucket, prefix, and the references accessKey and secretKey; empty without. */}}
{{- define "gitops.logArchive" -}}
{{- $store := .Values.codefreshWorkflowLogStoreCM -}}
{{- if and $store.enabled $store.endpoint (index .Values "app-proxy").workflows.enabled -}}
{{- $bucket := default .Values.global.codefresh.accountId $store.bucket -}}
{{- $prefix := default .Values.global.runtime.name $store.keyPrefix -}}
{{- $url := printf "%s://%s" (ternary "http" "https" $store.insecure) $store.endpoint -}}
{{ toJson (dict "url" $url "endpoint" $store.endpoint "bucket" $bucket "prefix" $prefix "accessKey" $store.accessKeySecretKeyRef "secretKey" $store.secretKeySecretKeyRef) }}
{{- end -}}
{{- end -}}

{{- define "gitops.logArchiveEnv" -}}
{{- with include "gitops.logArchive" . }}
{{- $archive := fromJson . }}
WINDLASS_APP_PROXY_WORKFLOW_LOGS_URL: {{ $archive.url | quote }}
WINDLASS_APP_PROXY_WORKFLOW_LOGS_BUCKET: {{ $archive.bucket | quote }}
WINDLASS_APP_PROXY_WORKFLOW_LOGS_REGION: {{ $.Values.codefreshWorkflowLogStoreCM.region | quote }}
WINDLASS_APP_PROXY_WORKFLOW_LOGS_PREFIX: {{ $archive.prefix | quote }}
WINDLASS_APP_PROXY_WORKFLOW_LOGS_ACCESS_KEY_PATH: /etc/windlass/workflow-logs/access-key
WINDLASS_APP_PROXY_WORKFLOW_LOGS_SECRET_KEY_PATH: /etc/windlass/workflow-logs/secret-key
{{- end }}
{{- end -}}

{{- define "gitops.logArchiveVolume" -}}
{{- with include "gitops.logArchive" . }}
{{- $archive := fromJson . }}
- name: workflow-logs
  projected:
    sources:
      - secret: { name: {{ $archive.accessKey.name }}, items: [{ key: {{ $archive.accessKey.key }}, path: access-key }], optional: true }
      - secret: { name: {{ $archive.secretKey.name }}, items: [{ key: {{ $archive.secretKey.key }}, path: secret-key }], optional: true }
{{- end }}
{{- end -}}
