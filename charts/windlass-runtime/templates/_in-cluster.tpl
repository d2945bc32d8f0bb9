{{/* Inputs of the commands `windlass in-cluster …`: settings in environment variables, secrets in files. */}}

{{- define "windlass.inClusterSettings" -}}
{{- $agent := include "windlass.agentTokenSecret" . | fromJson }}
- name: WINDLASS_IN_CLUSTER_SERVER_URL
  value: {{ include "windlass.serverUrl" . | quote }}
- name: WINDLASS_IN_CLUSTER_RUNTIME
  value: {{ include "windlass.runtimeName" . | quote }}
{{- if .Values.runtime.agent }}
- name: WINDLASS_IN_CLUSTER_AGENT
  value: {{ include "windlass.agentName" . | quote }}
- name: WINDLASS_IN_CLUSTER_AGENT_SECRET
  value: {{ $agent.name }}
- name: WINDLASS_IN_CLUSTER_AGENT_SECRET_KEY
  value: {{ $agent.key }}
- name: WINDLASS_IN_CLUSTER_OWNER
  value: {{ include "windlass.runnerName" . }}
{{- end }}
{{- if include "windlass.userTokenSecret" . }}
- name: WINDLASS_IN_CLUSTER_TOKEN_PATH
  value: /etc/windlass/user/token
{{- end }}
{{- if .Values.global.agentToken }}
- name: WINDLASS_IN_CLUSTER_GIVEN_AGENT_TOKEN_PATH
  value: /etc/windlass/agent/token
{{- end }}
- name: WINDLASS_IN_CLUSTER_CERTIFICATE_DAYS
  value: {{ ternary (int .Values.runtime.gencerts.days) 1095 .Values.runtime.gencerts.cronjob.enabled | quote }}
- name: WINDLASS_IN_CLUSTER_RUNTIMES_DIR
  value: /etc/windlass/runtimes
{{- end -}}

{{/* dict root, env. */}}
{{- define "windlass.inClusterEnv" -}}
{{- include "windlass.env" (dict "root" .root "env" .env "extra" (include "windlass.inClusterSettings" .root)) }}
{{- end -}}

{{- define "windlass.inClusterMounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: runtime-config, mountPath: /etc/windlass/runtimes, readOnly: true }
{{- if include "windlass.userTokenSecret" . }}
- { name: user-token, mountPath: /etc/windlass/user, readOnly: true }
{{- end }}
{{- if .Values.global.agentToken }}
- { name: agent-token, mountPath: /etc/windlass/agent, readOnly: true }
{{- end }}
{{- include "windlass.caMount" . }}
{{- end -}}

{{/* The API key may be removed after the installation; pods then start without it. */}}
{{- define "windlass.inClusterVolumes" -}}
{{- $user := include "windlass.userTokenSecret" . | fromJson }}
- name: runtime-config
  projected:
    sources:
      - configMap: { name: {{ include "windlass.runtimeConfigName" . }} }
      {{- range $key, $_ := .Values.extraRuntimes }}
      - configMap: { name: {{ include "windlass.extraRuntimeConfigName" (dict "root" $ "key" $key) }} }
      {{- end }}
{{- if $user.name }}
- name: user-token
  secret: { secretName: {{ $user.name }}, optional: true, items: [{ key: {{ $user.key }}, path: token }] }
{{- end }}
{{- if .Values.global.agentToken }}
- name: agent-token
  secret: { secretName: {{ include "windlass.component" (dict "root" . "component" "given-agent") }}, items: [{ key: agent-codefresh-token, path: token }] }
{{- end }}
{{- include "windlass.caVolumeItem" . }}
{{- end -}}

{{- define "windlass.runtimeConfigName" -}}
{{- include "windlass.normalized" (include "windlass.runtimeName" .) }}-runtime-config
{{- end -}}
{{- define "windlass.extraRuntimeConfigName" -}}
{{- include "windlass.normalized" .key }}-extra-runtime-config
{{- end -}}

{{/* A pod that runs one of the commands: dict root, command, component, account (name), values (image, env, resources, placement), backoff. */}}
{{- define "windlass.inClusterPod" -}}
metadata:
  labels: {{- include "windlass.labels" (dict "root" .root "component" .component) | nindent 4 }}
spec:
  restartPolicy: {{ default "Never" .restartPolicy }}
  serviceAccountName: {{ .account }}
  automountServiceAccountToken: {{ default false .usesCluster }}
  enableServiceLinks: false
  {{- include "windlass.pullSecrets" .root | nindent 2 }}
  {{- include "windlass.podSecurity" (dict "context" .root.Values.runner.podSecurityContext) | nindent 2 }}
  containers:
    - name: {{ .component }}
      image: {{ include "windlass.image" (dict "root" .root "image" .values.image) }}
      imagePullPolicy: {{ include "windlass.pullPolicy" (dict "root" .root "image" .values.image) }}
      command: [node, dist/windlass.js, in-cluster, {{ .command | join ", " }}]
      {{- include "windlass.containerSecurity" (dict "nonRoot" true) | nindent 6 }}
      env:
        {{- include "windlass.inClusterEnv" (dict "root" .root "env" .values.env) | nindent 8 }}
      volumeMounts:
        {{- include "windlass.inClusterMounts" .root | nindent 8 }}
      resources: {{- toYaml (default .root.Values.runtime.patch.resources .values.resources) | nindent 8 }}
  {{- include "windlass.placement" .values | nindent 2 }}
  volumes:
    - { name: tmp, emptyDir: {} }
    {{- include "windlass.inClusterVolumes" .root | nindent 4 }}
{{- end -}}
