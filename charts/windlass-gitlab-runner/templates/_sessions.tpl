{{- /* The server of terminals of jobs. `sessionSelector` of the context selects the pods of managers. */ -}}
{{- define "gitlab-runner.hasSessions" -}}
{{- /* GitLab opens a terminal at the manager that runs the job, so all addresses have to lead to one. */ -}}
{{- $managers := ternary 1 .Values.replicas (kindIs "invalid" .Values.replicas) | int -}}
{{- if and .Values.sessionServer .Values.sessionServer.enabled (eq $managers 1) (not .Values.hpa) -}}
true
{{- end -}}
{{- end -}}

{{- define "gitlab-runner.sessionName" -}}
{{- printf "%s-session-server" (include "gitlab-runner.fullname" . | trunc 48 | trimSuffix "-") -}}
{{- end -}}

{{- define "gitlab-runner.sessionType" -}}
{{- $type := default "LoadBalancer" .Values.sessionServer.serviceType -}}
{{- if not (has $type (list "LoadBalancer" "ClusterIP" "Headless" "NodePort")) -}}
{{- fail (printf "sessionServer.serviceType is %q: use LoadBalancer, ClusterIP, Headless or NodePort." $type) -}}
{{- end -}}
{{- $type -}}
{{- end -}}

{{- /* Port at which GitLab reaches the manager. */ -}}
{{- define "gitlab-runner.sessionPort" -}}
{{- $type := include "gitlab-runner.sessionType" . -}}
{{- if eq $type "Headless" -}}
{{- default 8093 .Values.sessionServer.internalPort | int -}}
{{- else if eq $type "NodePort" -}}
{{- required "sessionServer.nodePort is required with sessionServer.serviceType NodePort." .Values.sessionServer.nodePort | int -}}
{{- else -}}
{{- default 9000 .Values.sessionServer.externalPort | int -}}
{{- end -}}
{{- end -}}

{{- define "gitlab-runner.sessionAddress" -}}
{{- $type := include "gitlab-runner.sessionType" . -}}
{{- $host := .Values.sessionServer.publicIP -}}
{{- if and (not $host) (has $type (list "ClusterIP" "Headless")) -}}
{{- $host = printf "%s.%s.svc.cluster.local" (include "gitlab-runner.sessionName" .) .Release.Namespace -}}
{{- end -}}
{{- $host = required (printf "sessionServer.publicIP is required with sessionServer.serviceType %s: the address or name at which GitLab reaches the Service." $type) $host -}}
{{- printf "%s:%s" (ternary (printf "[%s]" $host) $host (contains ":" $host)) (include "gitlab-runner.sessionPort" .) -}}
{{- end -}}

{{- define "gitlab-runner.sessionService" -}}
{{- if include "gitlab-runner.hasSessions" . }}
{{- $type := include "gitlab-runner.sessionType" . }}
{{- $port := default 8093 .Values.sessionServer.internalPort | int }}
# GitLab opens the terminals of jobs here.
apiVersion: v1
kind: Service
metadata:
  name: {{ include "gitlab-runner.sessionName" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "gitlab-runner.labels" . | nindent 4 }}
  {{- with .Values.sessionServer.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ ternary "ClusterIP" $type (eq $type "Headless") }}
  {{- if eq $type "Headless" }}
  clusterIP: None
  {{- end }}
  {{- if eq $type "LoadBalancer" }}
  {{- with .Values.sessionServer.loadBalancerSourceRanges }}
  loadBalancerSourceRanges: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- with .Values.sessionServer.externalTrafficPolicy }}
  externalTrafficPolicy: {{ . }}
  {{- end }}
  {{- with .Values.sessionServer.internalTrafficPolicy }}
  internalTrafficPolicy: {{ . }}
  {{- end }}
  selector:
    {{- default (printf "app: %s\nrelease: %s" (include "gitlab-runner.fullname" .) (quote .Release.Name)) .sessionSelector | nindent 4 }}
  ports:
    - name: sessions
      port: {{ ternary $port (default 9000 .Values.sessionServer.externalPort | int) (eq $type "Headless") }}
      targetPort: {{ $port }}
      {{- if eq $type "NodePort" }}
      nodePort: {{ include "gitlab-runner.sessionPort" . }}
      {{- end }}
{{- end }}
{{- end -}}
