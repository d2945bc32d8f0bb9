{{/* Parameters of the StorageClass (all strings, as Kubernetes requires), validated against the limits of the clouds. */}}
{{- define "windlass.storageParameters" -}}
{{- $storage := .Values.storage -}}
{{- $backend := $storage.backend -}}
volumeBackend: {{ $backend }}
{{- if eq $backend "local" }}
volumeParentDir: {{ $storage.local.volumeParentDir }}
{{- else }}
fsType: {{ $storage.fsType | quote }}
{{- end }}
{{- if hasPrefix "ebs" $backend }}
{{- $ebs := $storage.ebs }}
VolumeType: {{ $ebs.volumeType }}
AvailabilityZone: {{ required "storage.ebs.availabilityZone is required: disks of EBS belong to one zone" $ebs.availabilityZone }}
encrypted: {{ $ebs.encrypted | toString | quote }}
{{- with $ebs.kmsKeyId }}
kmsKeyId: {{ . | quote }}
{{- end }}
{{- include "windlass.ioParameters" $ebs }}
{{- else if hasPrefix "gcedisk" $backend }}
type: {{ $storage.gcedisk.volumeType }}
zone: {{ required "storage.gcedisk.availabilityZone is required: disks of a region are not supported" $storage.gcedisk.availabilityZone }}
{{- else if hasPrefix "azuredisk" $backend }}
{{- $azure := $storage.azuredisk }}
kind: managed
skuName: {{ $azure.skuName }}
cachingMode: {{ $azure.cachingMode }}
{{- with $azure.availabilityZone }}
availabilityZone: {{ . | quote }}
{{- end }}
{{- with $azure.resourceGroup }}
resourceGroup: {{ . | quote }}
{{- end }}
{{- with $azure.DiskIOPSReadWrite }}
DiskIOPSReadWrite: {{ include "windlass.text" . | quote }}
{{- end }}
{{- with $azure.DiskMBpsReadWrite }}
DiskMBpsReadWrite: {{ include "windlass.text" . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* IOPS and throughput of EBS (AWS: gp3 3000-16000 and 125-1000 MiB/s, io1 100-64000; gp2 has neither). */}}
{{- define "windlass.ioParameters" -}}
{{- if .iops }}
{{- if eq .volumeType "gp2" }}{{ fail "storage.ebs.iops has no effect for gp2; use gp3 or io1" }}{{ end }}
{{- $range := ternary (list 3000 16000) (list 100 64000) (eq .volumeType "gp3") }}
iops: {{ include "windlass.inRange" (dict "value" .iops "range" $range "name" (printf "storage.ebs.iops of %s" .volumeType)) | quote }}
{{- end }}
{{- if .throughput }}
{{- if ne .volumeType "gp3" }}{{ fail "storage.ebs.throughput is only for gp3" }}{{ end }}
throughput: {{ include "windlass.inRange" (dict "value" .throughput "range" (list 125 1000) "name" "storage.ebs.throughput") | quote }}
{{- end }}
{{- end -}}

{{- define "windlass.inRange" -}}
{{- $text := include "windlass.text" .value -}}
{{- if not (regexMatch "^[0-9]+$" $text) }}{{ fail (printf "%s is %q, but must be a whole number" .name $text) }}{{ end -}}
{{- if or (lt (atoi $text) (index .range 0)) (gt (atoi $text) (index .range 1)) -}}
{{- fail (printf "%s is %s, but must be from %d to %d" .name $text (index .range 0) (index .range 1)) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/* A key of a Secret as an environment variable: dict name (of the variable), ref, inline, root, key. */}}
{{- define "windlass.credential" -}}
{{- $secret := include "windlass.component" (dict "root" .root "component" "volume-provisioner" "name" .root.Values.volumeProvisioner.name) -}}
{{- if .ref }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: { name: {{ .ref.name }}, key: {{ .ref.key }} }
{{- else if .inline }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: { name: {{ $secret }}, key: {{ .key }} }
{{- end }}
{{- end -}}

{{- define "windlass.googleKey" -}}
{{- if hasPrefix "gcedisk" .Values.storage.backend -}}
{{- if .Values.storage.gcedisk.serviceAccountJsonSecretKeyRef -}}
{{ toJson (dict "name" .Values.storage.gcedisk.serviceAccountJsonSecretKeyRef.name "key" .Values.storage.gcedisk.serviceAccountJsonSecretKeyRef.key) }}
{{- else if .Values.storage.gcedisk.serviceAccountJson -}}
{{ toJson (dict "name" (include "windlass.provisionerName" .) "key" "google-service-account.json") }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "windlass.mountsAzure" -}}
{{- if and (hasPrefix "azuredisk" .Values.storage.backend) (or .Values.storage.mountAzureJson .Values.volumeProvisioner.mountAzureJson) -}}true{{- end -}}
{{- end -}}

{{/* Environment variables of the provisioner: its name and its cloud credentials. */}}
{{- define "windlass.provisionerEnv" -}}
{{- $ebs := .Values.storage.ebs -}}
- name: PROVISIONER_NAME
  value: {{ include "windlass.provisionerId" . }}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef: { fieldPath: metadata.namespace }
- name: POD_NAME
  valueFrom:
    fieldRef: { fieldPath: metadata.name }
- name: WINDLASS_PROVISIONER_HELPER_IMAGE
  value: {{ include "windlass.image" (dict "root" . "image" .Values.volumeProvisioner.image) }}
{{- with include "windlass.pullSecretNames" . | fromYamlArray }}
{{- $names := list }}{{ range . }}{{ $names = append $names .name }}{{ end }}
- name: WINDLASS_PROVISIONER_HELPER_PULL_SECRETS
  value: {{ $names | join "," }}
{{- end }}
{{- if include "windlass.isRootless" . }}
- name: IS_ROOTLESS
  value: 'true'
{{- end }}
- name: WINDLASS_PROVISIONER_PORT
  value: '8080'
{{- if hasPrefix "ebs" .Values.storage.backend }}
{{- include "windlass.credential" (dict "root" . "name" "AWS_ACCESS_KEY_ID" "ref" $ebs.accessKeyIdSecretKeyRef "inline" $ebs.accessKeyId "key" "aws_access_key_id") }}
{{- include "windlass.credential" (dict "root" . "name" "AWS_SECRET_ACCESS_KEY" "ref" $ebs.secretAccessKeySecretKeyRef "inline" $ebs.secretAccessKey "key" "aws_secret_access_key") }}
{{- end }}
{{- with include "windlass.googleKey" . | fromJson }}
{{- if .key }}
- name: GOOGLE_APPLICATION_CREDENTIALS
  value: /etc/dind-volume-provisioner/credentials/{{ .key }}
{{- end }}
{{- end }}
{{- if include "windlass.mountsAzure" . }}
- name: AZURE_CREDENTIAL_FILE
  value: /etc/kubernetes/azure.json
- name: CLOUDCONFIG_AZURE
  value: /etc/kubernetes/azure.json
{{- end }}
{{- end -}}
