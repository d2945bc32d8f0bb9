{{/* A task of the workflow that reports images: dict root, name, image (overrides), args (a list), outputs (true for the reference of the image). */}}
{{- define "gitops.enrichmentTask" -}}
{{- $values := index .root.Values "app-proxy" "image-enrichment" -}}
- name: {{ .name }}
  container:
    {{- include "gitops.containerFields" (dict "root" .root "image" .image) | nindent 4 }}
    command: [node, dist/windlass.js]
    args:
      {{- range concat (list "gitops" "image" .name) .args }}
      - {{ . | quote }}
      {{- end }}
      - --server-url={{ .root.Values.global.codefresh.url | trimSuffix "/" }}
      - --token-file=/etc/windlass/token/token
      - --registry-integration=/etc/windlass/registry
      - '--workflow={{ `{{workflow.parameters.workflow-name}}` }}'
      - '--workflow-url={{ `{{workflow.parameters.workflow-url}}` }}'
      - --
      - {{ ternary "{{workflow.parameters.image}}" "{{inputs.parameters.reference}}" .outputs | quote }}
    env:
      {{- include "gitops.env" (dict "root" .root "env" dict "extra" "HOME: /tmp") | nindent 6 }}
    volumeMounts:
      - { name: tmp, mountPath: /tmp }
      - { name: token, mountPath: /etc/windlass/token, readOnly: true }
      - { name: registry, mountPath: /etc/windlass/registry, readOnly: true }
      - { name: git, mountPath: /etc/windlass/git, readOnly: true }
      - { name: jira, mountPath: /etc/windlass/jira, readOnly: true }
      {{- include "gitops.caMount" .root | nindent 6 }}
    resources: {{- toYaml $values.resources | nindent 6 }}
  {{- if .outputs }}
  outputs:
    parameters:
      - { name: reference, valueFrom: { path: /tmp/reference } }
  {{- else }}
  inputs:
    parameters:
      - { name: reference }
  {{- end }}
{{- end -}}
