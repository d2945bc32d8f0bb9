/**
 * Converts installer values to values of the chart `windlass-runtime`. Pure. Every key of the installer is either mapped here, used by the
 * installer itself, or has no effect any more (`NO_EFFECT`).
 */
import { APP_PROXY_NAME, APP_PROXY_SECRET } from '../app-proxy/address.ts'
import { FOLDER_VARIABLE, RUNTIMES_FOLDER } from '../attach/runtime-file.ts'
import type { InstallerValues } from './installer-values.ts'
import { mergeTrees, pruneTree, valueAt, type Tree } from './read-values.ts'
import type { InstallValues } from './install-values.ts'

export interface AppProxyFacts {
  /** Origins of pages, if they differ from that of the URL for the cluster. */
  readonly cors: string | undefined
}

/** What the installer knows apart from the values. */
export interface InstallFacts {
  readonly url: string
  readonly namespace: string
  readonly context: string
  readonly agentName: string | undefined
  readonly runtimeName: string | undefined
  /** Secret in the namespace with the agent's token. */
  readonly tokenSecret: { readonly name: string; readonly key: string } | undefined
  /** PEM of the server's certificate authority. */
  readonly ca?: string | undefined
  /** True if the agent reads its runtimes from the Secret `runnerconf`; otherwise it serves only its own namespace. */
  readonly readsFiles?: boolean
  /** Set if this installation has an app-proxy. Its Secret must exist. */
  readonly appProxy?: AppProxyFacts | undefined
  /** Components of this release. */
  readonly parts: { readonly agent: boolean; readonly runtime: boolean; readonly monitor: boolean }
}

/** Values of the Codefresh installer that have no effect, with the reason. */
export const NO_EFFECT: Readonly<Record<string, string>> = {
  NewRelicLicense: 'components report to Prometheus',
  Logging: 'logs go to the server',
  GitProviderURL: 'the network test checks only the server',
  NetworkTester: 'the network test is part of the image',
  'Monitor.Helm3': 'all releases of Helm 3 and later are read',
  'Storage.AzureLocation': 'the location of the nodes is used',
  'Storage.CreateStorageClass': 'set an existing class in StorageClass',
  'Storage.VolumeProvisioner.CreateDindVolDirResouces': 'the node daemon creates the folders of disks',
}

/** Returns the given keys that have no effect, each with its reason. */
export function listNoEffect(installer: InstallerValues): string[] {
  const keys = Object.entries(NO_EFFECT).flatMap(([path, why]) =>
    valueAt(installer, path.split('.')) === undefined ? [] : [`${path}: ${why}`],
  )
  const wantsMonitor = installer.Monitor?.Enabled === true && installer.SkipClusterIntegration === true
  return wantsMonitor ? [...keys, MONITOR_ALONE] : keys
}

const MONITOR_ALONE = '--install-monitor: the monitor needs the cluster that --skip-cluster-integration does not register'

/** Returns the chart values, without unset ones. */
export function toChartValues({ installer, chart }: InstallValues, facts: InstallFacts): Tree {
  const values = {
    global: globalOf(installer, facts),
    runner: facts.parts.agent ? runnerOf(installer, facts) : { enabled: false },
    volumeProvisioner: provisionerOf(installer, facts),
    storage: facts.parts.runtime ? storageOf(installer.Storage) : undefined,
    runtime: runtimeOf(installer, facts),
    monitor: facts.parts.monitor ? monitorOf(installer.Monitor) : { enabled: false },
    appProxy: facts.appProxy === undefined ? undefined : appProxyOf(installer.AppProxy, facts.appProxy),
    image: imageOf(installer.Image),
  }
  return mergeTrees(pruneTree(values), chart)
}

function globalOf({ DockerRegistry, EnvVars, AdditionalEnvVars }: InstallerValues, facts: InstallFacts): Tree {
  const { proxy, env } = splitProxies({ ...AdditionalEnvVars, ...EnvVars })
  return {
    codefreshHost: facts.url,
    context: facts.context,
    agentName: facts.agentName,
    runtimeName: facts.runtimeName,
    agentTokenSecretKeyRef: facts.tokenSecret,
    imageRegistry: DockerRegistry,
    caBundle: facts.ca,
    proxy,
    env,
  }
}

/** Separates the proxy variables from the others. Their names are case-insensitive: `No_proxy` is `NO_PROXY`. */
export function splitProxies(variables: Readonly<Record<string, string>>): { proxy: Tree; env: Tree } {
  const proxy: Record<string, string> = {}
  const env: Record<string, string> = {}
  const places: Readonly<Record<string, string>> = { HTTP_PROXY: 'httpProxy', HTTPS_PROXY: 'httpsProxy', NO_PROXY: 'noProxy' }
  for (const [name, value] of Object.entries(variables)) {
    const place = places[name.toUpperCase()]
    if (place === undefined) env[name] = value
    else proxy[place] = value
  }
  return { proxy, env }
}

function runnerOf(installer: InstallerValues, { readsFiles }: InstallFacts): Tree {
  return {
    name: 'runner',
    resources: installer.Runner?.resources,
    nodeSelector: installer.NodeSelector,
    tolerations: installer.Tolerations,
    serviceAccount: { name: installer.RuntimeServiceAccount },
    rbac: { create: installer.CreateRbac },
    env: readsFiles === true ? { [FOLDER_VARIABLE]: RUNTIMES_FOLDER } : undefined,
  }
}

function provisionerOf(
  { NodeSelector, Tolerations, StorageClass, Storage, CreateRbac }: InstallerValues,
  { parts }: InstallFacts,
): Tree {
  if (!parts.runtime || StorageClass !== undefined) return { enabled: false }
  const wanted = Storage?.VolumeProvisioner
  return {
    name: 'dind-volume-provisioner-runner',
    image: imageOf(wanted?.Image),
    nodeSelector: wanted?.NodeSelector ?? NodeSelector,
    tolerations: wanted?.Tolerations ?? Tolerations,
    resources: wanted?.resources,
    serviceAccount: { annotations: wanted?.ServiceAccount?.Annotations },
    rbac: { create: CreateRbac },
    'dind-lv-monitor': {
      image: imageOf(Storage?.LocalVolumeMonitor?.Image),
      resources: Storage?.LocalVolumeMonitor?.resources,
      tolerations: Tolerations,
    },
    'dind-volume-cleanup': { image: imageOf(Storage?.VolumeCleaner?.Image) },
  }
}

function storageOf(storage: InstallerValues['Storage']): Tree {
  const backend = storage?.Backend
  const zone = storage?.AvailabilityZone
  return {
    backend,
    fullnameOverride: storage?.StorageClassName,
    fsType: storage?.FsType,
    annotations: storage?.Annotations,
    mountAzureJson: storage?.VolumeProvisioner?.MountAzureJson,
    local: { volumeParentDir: storage?.LocalVolumeParentDir },
    ebs: backend?.startsWith('ebs')
      ? {
          volumeType: storage?.VolumeType,
          availabilityZone: zone,
          encrypted: storage?.Encrypted,
          kmsKeyId: storage?.KmsKeyId,
          accessKeyId: storage?.AwsAccessKeyId,
          secretAccessKey: storage?.AwsSecretAccessKey,
        }
      : undefined,
    gcedisk: backend?.startsWith('gce')
      ? { volumeType: storage?.VolumeType, availabilityZone: zone, serviceAccountJson: storage?.GoogleServiceAccount }
      : undefined,
    azuredisk: backend?.startsWith('azure')
      ? {
          skuName: storage?.SkuName ?? storage?.VolumeType,
          cachingMode: storage?.CachingMode,
          availabilityZone: zone,
          resourceGroup: storage?.AzureResourceGroup,
        }
      : undefined,
  }
}

function runtimeOf(installer: InstallerValues, { parts }: InstallFacts): Tree {
  // The installer sends the specification itself with the user's key, so that no key remains in the cluster.
  const patch = { enabled: false }
  if (!parts.runtime) return { patch, gencerts: { enabled: false }, serviceAccount: { create: false }, rbac: { create: false } }
  const wanted = installer.Runtime
  const both = { env: wanted?.AdditionalEnvVars, nodeSelector: wanted?.NodeSelector }
  return {
    patch,
    serviceAccount: { annotations: wanted?.ServiceAccount?.Annotations },
    engine: { ...both, tolerations: wanted?.tolerations },
    dind: {
      ...both,
      resources: wanted?.resources,
      // A list replaces that of the chart, so repeat the chart's toleration of build nodes.
      tolerations:
        wanted?.tolerations === undefined
          ? undefined
          : [{ key: 'codefresh/dind', operator: 'Exists', effect: 'NoSchedule' }, ...wanted.tolerations],
      userAccess: installer.dockerDaemonScheduler?.userAccess,
      userVolumes: wanted?.userVolumes,
      userVolumeMounts: wanted?.userVolumeMounts,
      pvcs: { dind: { storageClassName: installer.StorageClass } },
    },
  }
}

function monitorOf(monitor: InstallerValues['Monitor']): Tree {
  return {
    enabled: true,
    image: imageOf(monitor?.Image),
    resources: monitor?.resources,
    env: monitor?.AdditionalEnvVars,
    rbac: { create: monitor?.RbacEnabled, namespaced: monitor?.UseNamespaceWithRole },
    serviceAccount: { annotations: monitor?.ServiceAccount?.Annotations },
  }
}

/** Returns the chart values of the app-proxy only. */
export function proxyValuesOf({ installer, chart }: InstallValues): Tree {
  return mergeTrees(pruneTree({ appProxy: appProxyOf(installer.AppProxy, { cors: undefined }) }), chart)
}

function appProxyOf(proxy: InstallerValues['AppProxy'], { cors }: AppProxyFacts): Tree {
  const { Host, IngressClass, TLSSecret, PathPrefix, Annotations } = proxy?.Ingress ?? {}
  return {
    enabled: true,
    name: APP_PROXY_NAME,
    tokenSecret: APP_PROXY_SECRET,
    config: { cors },
    ingress: { host: Host, class: IngressClass, tlsSecret: TLSSecret, pathPrefix: PathPrefix, annotations: Annotations },
    image: imageOf(proxy?.Image),
    resources: proxy?.resources,
    env: proxy?.AdditionalEnvVars,
    serviceAccount: { annotations: proxy?.ServiceAccount?.Annotations },
  }
}

/** Converts `{Name, Tag}` or `registry/name:tag@digest` to the image format of the chart. */
function imageOf(image: InstallerValues['Image']): Tree | undefined {
  if (image === undefined) return undefined
  if (typeof image !== 'string') return { repository: image.Name, tag: image.Tag }
  const found = /^(?<repository>.+?)(?::(?<tag>[\w][\w.-]*))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/.exec(image)?.groups
  return { repository: found?.['repository'] ?? image, tag: found?.['tag'], digest: found?.['digest'] }
}
