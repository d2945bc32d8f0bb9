{{/* How callers reach the runtime, and checks of the values. */}}

{{/* `ingress`, `httproute`, `tunnel`, or `url` if something else leads to the router. */}}
{{- define "gitops.access" -}}
{{- $runtime := .Values.global.runtime -}}
{{- if $runtime.ingress.enabled -}}ingress
{{- else if $runtime.httpRoute.enabled -}}httproute
{{- else if (index .Values "tunnel-client").enabled -}}tunnel
{{- else -}}url
{{- end -}}
{{- end -}}

{{/* URL of the runtime; empty in a tunnel whose domain is not in the values. */}}
{{- define "gitops.url" -}}
{{- $runtime := .Values.global.runtime -}}
{{- $access := include "gitops.access" . -}}
{{- if eq $access "ingress" -}}{{ $runtime.ingress.protocol }}://{{ first $runtime.ingress.hosts }}
{{- else if eq $access "httproute" -}}{{ $runtime.httpRoute.protocol }}://{{ first $runtime.httpRoute.hostnames }}
{{- else if eq $access "url" -}}{{ $runtime.ingressUrl | trimSuffix "/" }}
{{- else -}}
{{- with (index .Values "tunnel-client").tunnelServer.subdomainHost -}}https://{{ $.Values.global.codefresh.accountId }}-{{ $runtime.name }}.{{ . }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* Base URL that the tunnel client connects to. */}}
{{- define "gitops.registerUrl" -}}
{{- $server := (index .Values "tunnel-client").tunnelServer -}}
{{- if not (or $server.host $server.subdomainHost) -}}
{{- fail "tunnel-client.tunnelServer.subdomainHost is required for a tunnel: the domain WINDLASS_SERVER_TUNNEL_DOMAIN of the server. Without a tunnel, set global.runtime.ingress.enabled" -}}
{{- end -}}
{{- $host := default (printf "register.%s" $server.subdomainHost) $server.host -}}
{{- if contains "://" $host -}}{{ $host | trimSuffix "/" }}{{- else -}}https://{{ $host }}{{- end -}}
{{- end -}}

{{/* Fails with what is wrong. */}}
{{- define "gitops.checks" -}}
{{- $global := .Values.global -}}
{{- $runtime := $global.runtime -}}
{{- $access := include "gitops.access" . -}}
{{- if not $runtime.name }}{{ fail "global.runtime.name is required: the name of the runtime, unique in the account" }}{{ end -}}
{{- if not (regexMatch "^[a-z0-9]([a-z0-9-]{0,36}[a-z0-9])?$" $runtime.name) }}{{ fail (printf "global.runtime.name is %q, but must have at most 38 lower-case letters, digits and -, and begin and end with a letter or digit" $runtime.name) }}{{ end -}}
{{- if not $global.codefresh.url }}{{ fail "global.codefresh.url is required: the URL of the server" }}{{ end -}}
{{- if not $global.codefresh.accountId }}{{ fail "global.codefresh.accountId is required: the id of the account, which `windlass gitops install` looks up" }}{{ end -}}
{{- if and (not $runtime.tokenSecret) (not (include "gitops.userToken" .)) }}{{ fail "an API key is required: set global.codefresh.userToken.secretKeyRef or global.codefresh.userToken.token, or global.runtime.tokenSecret with a token of the runtime" }}{{ end -}}
{{- if eq (default "" $global.codefresh.userToken.secretKeyRef.name) "codefresh-token" }}{{ fail "global.codefresh.userToken.secretKeyRef.name is codefresh-token, which is reserved for the token of the runtime: use another Secret" }}{{ end -}}
{{- if and $runtime.ingress.enabled $runtime.httpRoute.enabled }}{{ fail "global.runtime.ingress.enabled and global.runtime.httpRoute.enabled exclude each other" }}{{ end -}}
{{- if and (eq $access "ingress") (not $runtime.ingress.hosts) }}{{ fail "global.runtime.ingress.hosts is required with global.runtime.ingress.enabled" }}{{ end -}}
{{- if eq $access "httproute" -}}
{{- if not $runtime.httpRoute.parentRefs }}{{ fail "global.runtime.httpRoute.parentRefs is required with global.runtime.httpRoute.enabled" }}{{ end -}}
{{- if not $runtime.httpRoute.hostnames }}{{ fail "global.runtime.httpRoute.hostnames is required with global.runtime.httpRoute.enabled" }}{{ end -}}
{{- end -}}
{{- if and (eq $access "url") (not $runtime.ingressUrl) }}{{ fail "the runtime is not reachable: enable tunnel-client, global.runtime.ingress or global.runtime.httpRoute, or set global.runtime.ingressUrl" }}{{ end -}}
{{- if and $runtime.codefreshHosted .Values.networkPolicy.enabled (not .Values.hosted.allowedNetworks) }}{{ fail "hosted.allowedNetworks is required with global.runtime.codefreshHosted: the network of the API server, see `kubectl --namespace default get endpointslices`, and those of the server, forges and managed clusters that are private" }}{{ end -}}
{{- with include "gitops.logArchive" . }}
{{- $archive := fromJson . }}
{{- if not (and $archive.accessKey $archive.secretKey) }}{{ fail "codefreshWorkflowLogStoreCM.accessKeySecretKeyRef and codefreshWorkflowLogStoreCM.secretKeySecretKeyRef are required with codefreshWorkflowLogStoreCM.endpoint: the keys of the bucket" }}{{ end -}}
{{- end -}}
{{- if and (index .Values "app-proxy" "image-enrichment").enabled (not (index .Values "app-proxy" "workflows").enabled) }}{{ fail "app-proxy.image-enrichment.enabled needs app-proxy.workflows.enabled, and Argo Workflows in the namespace, which this chart does not install" }}{{ end -}}
{{- with dig "argo-cd" "server" "auth" "type" "" (default dict $global.integrations) }}
{{- if not (has . (list "password" "token")) }}{{ fail (printf "global.integrations.argo-cd.server.auth.type is %q, but must be password or token" .) }}{{ end -}}
{{- end -}}
{{- $argo := include "gitops.argoServer" . | fromJson -}}
{{- if not (has $argo.protocol (list "http" "https")) }}{{ fail (printf "global.integrations.argo-cd.server.protocol is %q, but must be http or https" $argo.protocol) }}{{ end -}}
{{- range ternary (index .Values "internal-router").webhookNamespaces list (or $runtime.singleNamespace $runtime.codefreshHosted) -}}
{{- if ne . $.Release.Namespace }}{{ fail (printf "internal-router.webhookNamespaces has %s, but global.runtime.%s limits the runtime to %s: remove one of them" . (ternary "codefreshHosted" "singleNamespace" $runtime.codefreshHosted) $.Release.Namespace) }}{{ end -}}
{{- end -}}
{{- if or $runtime.singleNamespace $runtime.codefreshHosted -}}
{{- range $key := list "namespaces" "objectNamespaces" -}}
{{- range default list (index $.Values "event-reporters" "runtime-event-reporter" $key) -}}
{{- if ne . $.Release.Namespace }}{{ fail (printf "event-reporters.runtime-event-reporter.%s has %s, but global.runtime.%s limits the runtime to %s: remove one of them" $key . (ternary "codefreshHosted" "singleNamespace" $runtime.codefreshHosted) $.Release.Namespace) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $part := include "gitops.foreignParts" . | fromJsonArray }}
{{- $value := get $.Values $part }}
{{- if and (kindIs "map" $value) (eq (toString (get $value "enabled")) "true") }}{{ fail (printf "%s.enabled is true, but this chart does not install it: install it with its own chart, and remove the value" $part) }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Parts of the chart gitops-runtime that this chart does not have. Their values have no effect. */}}
{{- define "gitops.foreignParts" -}}
{{- toJson (list "argo-cd" "argo-events" "argo-gateway" "argo-rollouts" "argo-workflows" "gitops-operator" "redis" "redis-ha" "sealed-secrets") -}}
{{- end -}}

{{/* Those of them that have values, separated by commas. */}}
{{- define "gitops.withoutEffect" -}}
{{- $found := list -}}
{{- range $part := include "gitops.foreignParts" . | fromJsonArray -}}
{{- if get $.Values $part -}}{{- $found = append $found $part -}}{{- end -}}
{{- end -}}
{{- if and .Values.global.integrations (not (include "gitops.argoTokenRef" .)) -}}{{- $found = append $found "global.integrations" -}}{{- end -}}
{{- $found = concat $found (include "gitops.reporterWithoutEffect" . | fromJsonArray) (include "gitops.metricsWithoutEffect" . | fromJsonArray) -}}
{{- if and .Values.codefreshWorkflowLogStoreCM.endpoint (not (include "gitops.logArchive" .)) -}}{{- $found = append $found "codefreshWorkflowLogStoreCM" -}}{{- end -}}
{{- if .Values.global.runtime.gitCredentials.password -}}{{- $found = append $found "global.runtime.gitCredentials" -}}{{- end -}}
{{- $found | join ", " -}}
{{- end -}}
