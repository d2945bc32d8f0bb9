{{/* The manager of GitLab runners in the pod of the agent. Its templates, which `_shared.tpl` has, are those of the chart windlass-gitlab-runner. */}}

{{- define "windlass.runsGitlab" -}}
{{- if .Values.gitlab.enabled -}}
{{- if not (and .Values.runner.enabled .Values.runtime.agent) -}}
{{- fail "gitlab.enabled adds GitLab jobs to the agent, so it requires runner.enabled and runtime.agent. The chart windlass-gitlab-runner needs no agent." -}}
{{- end -}}
{{- if ne .Values.runner.updateStrategy.type "RollingUpdate" -}}
{{- fail "gitlab.enabled requires runner.updateStrategy.type RollingUpdate: with Recreate an upgrade would stop builds until the GitLab jobs of the old pod have ended." -}}
{{- end -}}
{{- $jobs := required "gitlab.runners.jobNamespace is required with gitlab.enabled: an existing namespace for the pods of GitLab jobs." .Values.gitlab.runners.jobNamespace -}}
{{- if eq $jobs .Release.Namespace -}}
{{- fail "gitlab.runners.jobNamespace must not be the namespace of the release: the manager lists the Secrets of that namespace, and here are the API key and the token of the agent. Create another one." -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{/* Makes `into` the context of the shared templates: dict root, into. */}}
{{- define "windlass.gitlabContext" -}}
{{- $root := .root -}}
{{- $values := deepCopy $root.Values.gitlab -}}
{{- $helper := dict "registry" "" "repository" "windlass/gitlab-helper" "tag" "" "digest" $values.helperDigest -}}
{{- $_ := set $values "helperImage" (default (include "windlass.image" (dict "root" $root "image" (dict) "default" $helper)) $values.helperImage) -}}
{{- $_ := set $values "managerImage" (default (include "windlass.image" (dict "root" $root "image" $root.Values.runner.image)) $values.managerImage) -}}
{{- $_ := set $values "imagePullPolicy" (include "windlass.pullPolicy" (dict "root" $root "image" $root.Values.runner.image)) -}}
{{- $_ := set $values "imagePullSecrets" $root.Values.global.imagePullSecrets -}}
{{- $_ := set $values "podSecurityContext" (default dict (include "windlass.podSecurity" (dict "context" $root.Values.runner.podSecurityContext) | fromYaml).securityContext) -}}
{{- $_ := set $values "controlPlane" dict -}}
{{- $_ := set $values "replicas" 1 -}}
{{- $_ := set $values "hpa" dict -}}
{{- $_ := set .into "Values" $values -}}
{{- $_ := set .into "Release" $root.Release -}}
{{- $_ := set .into "Chart" $root.Chart -}}
{{- $_ := set .into "Template" $root.Template -}}
{{- $_ := set .into "prefix" "gitlab-" -}}
{{- $_ := set .into "moreEnv" (include "windlass.env" (dict "root" $root) | trim) -}}
{{- $_ := set .into "moreMounts" (printf "%s\n%s" "- { name: gitlab-access, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }" (include "windlass.caMount" $root | trim) | trim) -}}
{{- $_ := set .into "drainSelector" (include "windlass.selectorLabels" (dict "root" $root "component" "runner") | replace ": " "=" | replace "\n" ",") -}}
{{- $_ := set .into "sessionSelector" (include "windlass.selectorLabels" (dict "root" $root "component" "runner")) -}}
{{- if $values.reports.enabled -}}{{- $_ := set .into "agentUrl" (printf "http://127.0.0.1:%d" (int $values.reports.port)) -}}{{- end -}}
{{- end -}}

{{/* Each container has the token of its own account: the manager has no right of the agent, and the agent none of the manager. */}}
{{- define "windlass.gitlabVolumes" -}}
- name: agent-access
  projected:
    sources:
      - serviceAccountToken: { path: token, expirationSeconds: 3607 }
      - configMap: { name: kube-root-ca.crt, items: [{ key: ca.crt, path: ca.crt }] }
      - downwardAPI: { items: [{ path: namespace, fieldRef: { fieldPath: metadata.namespace } }] }
- name: gitlab-access
  secret:
    secretName: {{ include "windlass.gitlabTokenName" . }}
    items: [{ key: token, path: token }, { key: ca.crt, path: ca.crt }, { key: namespace, path: namespace }]
{{ include "gitlab-runner.volumes" . }}
{{- end -}}

{{- define "windlass.gitlabTokenName" -}}
{{- printf "%s-token" (include "gitlab-runner.fullname" . | trunc 57) -}}
{{- end -}}

{{/* Values of the chart windlass-gitlab-runner that have no meaning here, among those that are given. */}}
{{- define "windlass.gitlabUnused" -}}
{{- $unused := list -}}
{{- range list "affinity" "controlPlane" "deploymentAnnotations" "deploymentLabels" "extraContainers" "extraObjects" "hostAliases" "hpa" "image" "imagePullPolicy" "imagePullSecrets" "nodeSelector" "podAnnotations" "podLabels" "podSecurityContext" "priorityClassName" "replicas" "runtimeClassName" "schedulerName" "service" "strategy" "tolerations" "topologySpreadConstraints" -}}
{{- if hasKey $.Values.gitlab . -}}{{- $unused = append $unused (printf "gitlab.%s" .) -}}{{- end -}}
{{- end -}}
{{- join ", " $unused -}}
{{- end -}}
