/** What the defaults of a chart's values do not say: closed lists, ranges, and keys of cf-runtime that are accepted. */

export type Schema = Readonly<Record<string, unknown>>

const oneOf = (...values: readonly string[]): Schema => ({ enum: values })
/** A whole number, also written as a text; empty for none. */
const whole = (least: number, most: number): Schema => ({
  anyOf: [{ type: 'integer', minimum: least, maximum: most }, { type: 'string', pattern: '^[0-9]*$' }, { type: 'null' }],
})
const yesNo: Schema = { enum: [true, false, 'true', 'false'] }
const url: Schema = { type: ['string', 'null'], pattern: '^(https?://[^ ]+)?$' }
/** One of some words; empty for none. */
const word = (...values: readonly string[]): Schema => ({ enum: [...values, '', null] })
/** A name without scheme, port and path; empty for none. Browsers may reach it by HTTPS only, so that there is nothing to choose. */
const hostName: Schema = {
  type: ['string', 'null'],
  pattern: '^([a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?$',
  maxLength: 253,
}
/** Empty for the root, as in cf-runtime. */
const pathPrefix: Schema = { type: ['string', 'null'], pattern: '^(/|(/[A-Za-z0-9._~-]+)+)?$', maxLength: 200 }
const count: Schema = { type: 'integer', minimum: 0 }

/** Charts that take the values of another chart: they have rules of their own only, and no key is a mistake. */
export const OPEN_CHARTS: ReadonlySet<string> = new Set(['windlass-gitlab-runner'])

/** By the path of the key, or by chart and path. */
export const RULES: Readonly<Record<string, Schema>> = {
  'global.codefreshHost': url,
  'runner.replicasCount': count,
  'runner.policy.mode': oneOf('strict', 'permissive'),
  'runner.starts.perCore': { type: ['number', 'null'], exclusiveMinimum: 0, maximum: 1000 },
  'runner.starts.max': { type: ['integer', 'null'], minimum: 1, maximum: 10_000 },
  'runner.updateStrategy.type': oneOf('RollingUpdate', 'Recreate'),
  'volumeProvisioner.replicasCount': count,
  'volumeProvisioner.updateStrategy.type': oneOf('RollingUpdate', 'Recreate'),
  'volumeProvisioner.dind-volume-cleanup.concurrencyPolicy': oneOf('Allow', 'Forbid', 'Replace'),
  'volumeProvisioner.dind-volume-cleanup.mounts.mountMin': { type: 'integer', minimum: 1 },
  'storage.backend': oneOf('local', 'ebs', 'ebs-csi', 'gcedisk', 'gcedisk-csi', 'azuredisk', 'azuredisk-csi'),
  'storage.fsType': oneOf('ext4', 'xfs'),
  'storage.volumeBindingMode': oneOf('Immediate', 'WaitForFirstConsumer'),
  'storage.local.volumeParentDir': { type: 'string', pattern: '^/[^ ]+$' },
  'storage.ebs.volumeType': oneOf('gp2', 'gp3', 'io1'),
  'storage.ebs.encrypted': yesNo,
  'storage.ebs.iops': whole(100, 64_000),
  'storage.ebs.throughput': whole(125, 1000),
  'storage.gcedisk.volumeType': oneOf('pd-ssd', 'pd-standard', 'pd-balanced'),
  'storage.azuredisk.skuName': oneOf(
    'Premium_LRS',
    'Premium_ZRS',
    'StandardSSD_LRS',
    'StandardSSD_ZRS',
    'Standard_LRS',
    'UltraSSD_LRS',
    'PremiumV2_LRS',
  ),
  'storage.azuredisk.cachingMode': oneOf('None', 'ReadOnly', 'ReadWrite'),
  'storage.azuredisk.DiskIOPSReadWrite': whole(120, 400_000),
  'storage.azuredisk.DiskMBpsReadWrite': whole(1, 10_000),
  'appProxy.replicasCount': count,
  'appProxy.updateStrategy.type': oneOf('RollingUpdate', 'Recreate'),
  'appProxy.config.logLevel': oneOf('debug', 'info', 'warn', 'error', 'silent'),
  'appProxy.ingress.host': hostName,
  'appProxy.ingress.pathPrefix': pathPrefix,
  'appProxy.httpRoute.pathPrefix': pathPrefix,
  'appProxy.httpRoute.hostnames': { type: ['array', 'null'], items: hostName },
  'runtime.gencerts.days': { type: 'integer', minimum: 1, maximum: 1095 },
  'runtime.patch.cronjob.mode': oneOf('report', 'apply'),
  'runtime.dind.pvcs.dind.name': oneOf('dind'),
  'runtime.dind.pvcs.dind.volumeSize': { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$' },
  'runtime.dind.userAccess': { type: 'boolean' },
  url,
  // A password in the values is readable in the release and in the pod.
  'database.url': {
    type: ['string', 'null'],
    pattern: '^(postgres(ql)?://([^:@/]*@)?[^@]*)?$',
    not: { pattern: '[?&]password=' },
  },
  replicas: { type: 'integer', minimum: 1 },
  'service.type': oneOf('ClusterIP', 'NodePort', 'LoadBalancer'),
  'service.port': { type: 'integer', minimum: 1, maximum: 65_535 },
  'gitlab.gitlabUrl': url,
  'gitlab.logLevel': word('debug', 'info', 'warn', 'warning', 'error', 'fatal', 'panic'),
  'gitlab.logFormat': word('runner', 'text', 'json'),
  'gitlab.concurrent': whole(1, 100_000),
  'gitlab.metrics.port': whole(1, 65_535),
  'gitlab.reports.port': whole(1, 65_535),
  'gitlab.sessionServer.serviceType': oneOf('LoadBalancer', 'NodePort', 'ClusterIP', 'Headless'),
  'gitlab.sessionServer.internalPort': whole(1, 65_535),
  'gitlab.sessionServer.externalPort': whole(1, 65_535),
  'gitlab.sessionServer.nodePort': whole(1, 65_535),
  'global.codefresh.url': url,
  'global.codefresh.accountId': { type: ['string', 'null'], pattern: '^([0-9a-f]{24})?$' },
  'global.runtime.ingress.protocol': oneOf('https', 'http'),
  'global.runtime.httpRoute.protocol': oneOf('https', 'http'),
  'global.runtime.ingressUrl': url,
  'internal-router.replicaCount': { type: 'integer', minimum: 1 },
  'internal-router.workflowsUrl': url,
  'internal-router.service.port': { type: 'integer', minimum: 1, maximum: 65_535 },
  'app-proxy.replicaCount': { type: 'integer', minimum: 1 },
  'global.event-reporters.replicas': { type: 'integer', minimum: 1, maximum: 64 },
  'codefreshWorkflowLogStoreCM.endpoint': {
    type: ['string', 'null'],
    pattern: '^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?)?$',
  },
  'codefreshWorkflowLogStoreCM.bucket': { type: ['string', 'null'], pattern: '^([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])?$' },
  'codefreshWorkflowLogStoreCM.region': { type: 'string', pattern: '^[a-z0-9-]{1,63}$' },
  'codefreshWorkflowLogStoreCM.keyPrefix': {
    type: ['string', 'null'],
    pattern: '^([A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$',
  },
  'app-proxy.config.clusterChunkSize': { type: 'integer', minimum: 0, maximum: 1_000 },
  'app-proxy.config.sealedSecretsUrl': url,
  'app-proxy.image-enrichment.config.concurrency': count,
  'app-proxy.image-enrichment.config.podGcStrategy': oneOf(
    'OnPodCompletion',
    'OnPodSuccess',
    'OnWorkflowCompletion',
    'OnWorkflowSuccess',
  ),
  'app-proxy.image-enrichment.config.ttlActiveInSeconds': { type: 'integer', minimum: 1 },
  'app-proxy.image-enrichment.config.ttlAfterCompletionInSeconds': count,
  'app-proxy.image-enrichment.config.clientHeartbeatIntervalInSeconds': { type: 'integer', minimum: 1, maximum: 300 },
  'app-proxy.config.logLevel': oneOf('debug', 'info', 'warn', 'error', 'silent'),
  'windlass-gitlab-runner:gitlabUrl': url,
  'windlass-gitlab-runner:image': { type: ['object', 'string', 'null'] },
  'windlass-gitlab-runner:logLevel': word('debug', 'info', 'warn', 'warning', 'error', 'fatal', 'panic'),
  'windlass-gitlab-runner:logFormat': word('runner', 'text', 'json'),
  'windlass-gitlab-runner:imagePullPolicy': word('Always', 'IfNotPresent', 'Never'),
  'windlass-gitlab-runner:concurrent': whole(1, 100_000),
  'windlass-gitlab-runner:metrics.port': whole(1, 65_535),
  'windlass-gitlab-runner:sessionServer.serviceType': word('LoadBalancer', 'NodePort', 'ClusterIP', 'Headless'),
  'windlass-gitlab-runner:sessionServer.internalPort': whole(1, 65_535),
  'windlass-gitlab-runner:sessionServer.externalPort': whole(1, 65_535),
  'windlass-gitlab-runner:sessionServer.nodePort': whole(1, 65_535),
}

/** Maps in which a key that is not known is a mistake. */
export const STRICT: ReadonlySet<string> = new Set([
  '',
  'global.proxy',
  'storage',
  'storage.local',
  'storage.ebs',
  'storage.gcedisk',
  'storage.azuredisk',
  'networkPolicy',
  'runner.starts',
  'runner.policy',
  'appProxy.config',
  'appProxy.ingress',
  'appProxy.httpRoute',
  'gitlab.reports',
  'global.codefresh',
  'global.codefresh.userToken',
  'global.runtime',
  'global.runtime.ingress',
  'global.runtime.httpRoute',
  'tunnel-client.tunnelServer',
  'codefreshWorkflowLogStoreCM',
  'podDisruptionBudget',
  'ingress',
  'tls',
  'database',
  'metrics',
  'bootstrap',
  'masterKey',
])

/** Keys of cf-runtime that mean nothing here, by chart and map. */
export const OPEN_KEYS: Readonly<Record<string, readonly string[]>> = {
  'windlass:': ['global'],
  'windlass-runtime:': ['dockerRegistry', 're', 'cf-common'],
  'windlass-gitops-runtime:': [
    'argo-cd',
    'argo-events',
    'argo-gateway',
    'argo-rollouts',
    'argo-workflows',
    'gitops-operator',
    'redis',
    'redis-ha',
    'sealed-secrets',
  ],
  'windlass-runtime:storage': ['mountAzureJson', 'provisioner', 'reclaimPolicy'],
  'windlass-runtime:storage.azuredisk': ['storageAccountType'],
}
