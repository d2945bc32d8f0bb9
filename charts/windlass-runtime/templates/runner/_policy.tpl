{{/* The policy of the agent: everything in the values of the runtimes, and the lists of `runner.policy`. */}}

{{/* The values of every runtime of the release, as a JSON list. */}}
{{- define "windlass.runtimesOfRelease" -}}
{{- $runtimes := list .Values.runtime -}}
{{- range $extra := .Values.extraRuntimes -}}
{{- $runtimes = append $runtimes (mergeOverwrite (deepCopy $.Values.runtime) (deepCopy (omit $extra "name"))) -}}
{{- end -}}
{{- toJson $runtimes -}}
{{- end -}}

{{/* Lists by the name of their setting. */}}
{{- define "windlass.policy" -}}
{{- $policy := .Values.runner.policy -}}
{{- $secrets := $policy.secrets -}}
{{- with .Values.global.caBundleSecretKeyRef }}{{ $secrets = append $secrets .name }}{{ end -}}
{{- $accounts := list -}}
{{- $claims := $policy.claims -}}
{{- $paths := $policy.hostPaths -}}
{{- $kinds := $policy.volumes -}}
{{- $labels := $policy.labels -}}
{{- $annotations := $policy.annotations -}}
{{- $resources := $policy.resources -}}
{{- $classes := $policy.storageClasses -}}
{{- $variables := concat $policy.daemonVariables (keys .Values.global.env | sortAlpha) -}}
{{- range $runtime := include "windlass.runtimesOfRelease" . | fromJsonArray -}}
{{- $dind := $runtime.dind -}}
{{- $accounts = append (append $accounts $dind.serviceAccount) $runtime.engine.serviceAccount -}}
{{- $variables = concat $variables (keys (default dict $dind.env) | sortAlpha) -}}
{{- $classes = append $classes (default (include "windlass.storageClassName" $) (tpl (default "" $dind.pvcs.dind.storageClassName) $)) -}}
{{- $annotations = concat $annotations (keys (default dict $dind.pvcs.dind.annotations) | sortAlpha) -}}
{{- range $pod := list $dind $runtime.engine -}}
{{- $labels = concat $labels (keys (default dict $pod.podLabels) | sortAlpha) -}}
{{- $annotations = concat $annotations (keys (default dict $pod.podAnnotations) | sortAlpha) -}}
{{- range $amounts := default dict $pod.resources -}}
{{- $resources = concat $resources (keys (omit (default dict $amounts) "cpu" "memory" "ephemeral-storage") | sortAlpha) -}}
{{- end -}}
{{- range $map := list (default dict $pod.userVolumes) (default dict $pod.volumes) -}}
{{- range $volume := $map -}}
{{- with $volume.secret }}{{ $secrets = append $secrets (tpl .secretName $) }}{{ end -}}
{{- with $volume.persistentVolumeClaim }}{{ $claims = append $claims (tpl .claimName $) }}{{ end -}}
{{- with $volume.hostPath }}{{ $paths = append $paths (tpl .path $) }}{{ end -}}
{{- range $kind := keys (omit $volume "name" "secret" "persistentVolumeClaim" "hostPath" "emptyDir" "configMap" "downwardAPI") }}{{ $kinds = append $kinds $kind }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $variable := default list $pod.userEnvVars -}}
{{- with $variable.valueFrom }}{{ with .secretKeyRef }}{{ $secrets = append $secrets .name }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $settings := dict "ALLOWED_SECRETS" $secrets "ALLOWED_PULL_SECRETS" $policy.pullSecrets "ALLOWED_CLAIMS" $claims -}}
{{- $_ := set $settings "SERVICE_ACCOUNTS" $accounts -}}
{{- $_ := set $settings "ALLOWED_HOST_PATHS" $paths -}}
{{- $_ := set $settings "ALLOWED_VOLUMES" $kinds -}}
{{- $_ := set $settings "ALLOWED_LABELS" $labels -}}
{{- $_ := set $settings "ALLOWED_ANNOTATIONS" $annotations -}}
{{- $_ := set $settings "ALLOWED_RESOURCES" $resources -}}
{{- $_ := set $settings "STORAGE_CLASSES" $classes -}}
{{- $_ := set $settings "DAEMON_VARIABLES" $variables -}}
{{- $_ := set $settings "PRIVILEGED_IMAGES" (append $policy.privilegedImages (include "windlass.daemonImage" .)) -}}
{{- $_ := set $settings "APP_PROXIES" $policy.appProxies -}}
{{- toYaml $settings -}}
{{- end -}}

{{/* The daemon's image by its digest, if it has one; else its repository, so that an upgrade does not refuse builds that started before it. */}}
{{- define "windlass.daemonImage" -}}
{{- $image := include "windlass.dindImage" . -}}
{{- if contains "@" $image -}}{{ $image }}{{- else -}}{{ regexReplaceAll ":[^/:]+$" $image "" }}{{- end -}}
{{- end -}}

{{/* All placements of the pods of the runtimes, as JSON. */}}
{{- define "windlass.placements" -}}
{{- $buildNodes := list (dict "key" "codefresh/dind" "operator" "Exists" "effect" "NoSchedule") -}}
{{- $all := .Values.runner.policy.placements -}}
{{- range $runtime := include "windlass.runtimesOfRelease" . | fromJsonArray -}}
{{- $engine := $runtime.engine -}}
{{- $dind := $runtime.dind -}}
{{- /* If the values of the daemon have no placement, it uses that of the engine, and the toleration of the runtime that it extends. */ -}}
{{- $nodes := default $engine.nodeSelector $dind.nodeSelector -}}
{{- $tolerations := default $buildNodes $dind.tolerations -}}
{{- $daemons := dict "nodeSelector" $nodes "tolerations" $tolerations "affinity" $dind.affinity "schedulerName" $dind.schedulerName -}}
{{- range $pod := list $engine $daemons -}}
{{- $placement := dict -}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "schedulerName" -}}
{{- with get $pod $field }}{{ $_ := set $placement $field . }}{{ end -}}
{{- end -}}
{{- $all = append $all $placement -}}
{{- end -}}
{{- end -}}
{{- toJson (uniq $all) -}}
{{- end -}}
