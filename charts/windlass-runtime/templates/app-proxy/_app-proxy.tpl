{{/* The app-proxy: its name, its address, and the checks of its values. */}}

{{- define "windlass.appProxyName" -}}
{{- include "windlass.component" (dict "root" . "component" "app-proxy" "name" .Values.appProxy.name) -}}
{{- end -}}

{{/* Name with which the app-proxy is known to the server: readable, and different for each runtime environment. `windlass install app-proxy` registers the same name. */}}
{{- define "windlass.appProxyRuntime" -}}
{{- $name := include "windlass.runtimeName" . -}}
{{- $slug := regexReplaceAll "[^a-z0-9]+" (lower $name) "-" | trimAll "-" | trunc 29 | trimSuffix "-" -}}
{{- printf "%s-%s" (default "runner" $slug) (sha256sum $name | trunc 8) -}}
{{- end -}}

{{- define "windlass.appProxySecret" -}}
{{- default (printf "%s-token" (include "windlass.appProxyName" . | trunc 57 | trimSuffix "-")) .Values.appProxy.tokenSecret -}}
{{- end -}}

{{/* Path below the host, without a slash at its end; `/` for the root. */}}
{{- define "windlass.appProxyPath" -}}
{{- $values := .Values.appProxy -}}
{{- default "/" (ternary $values.httpRoute.pathPrefix $values.ingress.pathPrefix $values.httpRoute.enabled) -}}
{{- end -}}

{{/* Address for browsers; empty if nothing of the values leads to it. */}}
{{- define "windlass.appProxyUrl" -}}
{{- $values := .Values.appProxy -}}
{{- $host := $values.ingress.host -}}
{{- if $values.httpRoute.enabled -}}{{- $host = first $values.httpRoute.hostnames -}}{{- end -}}
{{- if $host -}}https://{{ $host }}{{ include "windlass.appProxyPath" . | trimSuffix "/" }}{{- end -}}
{{- end -}}

{{/* Fails with what is wrong. */}}
{{- define "windlass.appProxyChecks" -}}
{{- $values := .Values.appProxy -}}
{{- if $values.httpRoute.enabled -}}
{{- if not $values.httpRoute.parentRefs }}{{ fail "appProxy.httpRoute.parentRefs is required with appProxy.httpRoute.enabled" }}{{ end -}}
{{- if not $values.httpRoute.hostnames }}{{ fail "appProxy.httpRoute.hostnames is required with appProxy.httpRoute.enabled" }}{{ end -}}
{{- if and $values.ingress.enabled $values.ingress.host }}{{ fail "appProxy.ingress.host and appProxy.httpRoute.enabled exclude each other: set appProxy.ingress.enabled to false, or remove the host" }}{{ end -}}
{{- else if and $values.ingress.enabled (not $values.ingress.host) -}}
{{- fail "appProxy.ingress.host is required with appProxy.enabled: the host name at which the ingress controller terminates TLS" -}}
{{- end -}}
{{- if not (or $values.tokenSecret (include "windlass.userTokenSecret" .)) }}{{ fail "the app-proxy needs an API key to register itself: set global.codefreshTokenSecretKeyRef, or appProxy.tokenSecret with a token of its own" }}{{ end -}}
{{- end -}}

{{- define "windlass.appProxyEnv" -}}
{{- $values := .Values.appProxy -}}
- name: WINDLASS_APP_PROXY_SERVER_URL
  value: {{ include "windlass.serverUrl" . | quote }}
- name: WINDLASS_APP_PROXY_RUNTIME
  value: {{ include "windlass.appProxyRuntime" . | quote }}
- name: WINDLASS_APP_PROXY_ACCOUNT_ID_FILE
  value: /etc/windlass/token/accountId
- name: WINDLASS_APP_PROXY_TOKEN_PATH
  value: /etc/windlass/token/token
- name: WINDLASS_APP_PROXY_STORE_IV_FILE
  value: /etc/windlass/token/encryptionIV
- name: WINDLASS_APP_PROXY_PATH_PREFIX
  value: {{ include "windlass.appProxyPath" . | quote }}
- name: WINDLASS_APP_PROXY_REQUIRE_HTTPS
  value: {{ $values.config.requireHttps | quote }}
# A Runner has no Argo CD.
- name: WINDLASS_APP_PROXY_GITOPS
  value: 'false'
- name: WINDLASS_APP_PROXY_REPOS_DIR
  value: /var/lib/windlass/repositories
- name: WINDLASS_APP_PROXY_PORT
  value: '3000'
- name: WINDLASS_APP_PROXY_LOG_LEVEL
  value: {{ $values.config.logLevel }}
{{- with $values.config.cors }}
- name: WINDLASS_APP_PROXY_CORS
  value: {{ . | quote }}
{{- end }}
{{- if $values.config.forgeCaSecretKeyRef }}
- name: WINDLASS_APP_PROXY_FORGE_CA_PATH
  value: /etc/windlass/forge-ca/ca.crt
{{- end }}
{{- end -}}

{{- define "windlass.appProxyRegisterEnv" -}}
{{ include "windlass.inClusterSettings" . }}
- name: WINDLASS_IN_CLUSTER_APP_PROXY
  value: {{ include "windlass.appProxyRuntime" . | quote }}
- name: WINDLASS_IN_CLUSTER_APP_PROXY_SECRET
  value: {{ include "windlass.appProxySecret" . }}
- name: WINDLASS_IN_CLUSTER_APP_PROXY_DIR
  value: /etc/windlass/token
{{- end -}}
