/** The target of an installation: a cluster, a namespace, and its Helm release. */
import { isRecord } from '@windlass/kit/json'
import type { Settings } from '../../config.ts'
import { openCluster, type OpenCluster } from '../cluster/open-cluster.ts'
import { openHelm, type Helm, type Release } from '../helm/helm.ts'
import { DEFAULT_NAMESPACE } from '../init/names.ts'
import type { Tree } from '../values/read-values.ts'
import type { InstallerValues } from '../values/installer-values.ts'

/** Name of the Helm release in a namespace, regardless of its components. */
export const RELEASE_NAME = 'windlass-runtime'

export interface TargetFlags {
  readonly kubeContextName?: string | undefined
  readonly kubeNamespace?: string | undefined
  readonly kubeConfigPath?: string | undefined
  readonly inCluster?: boolean | undefined
}

/** Returns the cluster and the namespace that values of an installer name. */
export function targetOf({ Context, Namespace, ConfigPath, InCluster }: InstallerValues): TargetFlags {
  return { kubeContextName: Context, kubeNamespace: Namespace, kubeConfigPath: ConfigPath, inCluster: InCluster }
}

export interface HelmFlags {
  readonly helm?: string | undefined
  readonly chart?: string | undefined
}

export interface InstallTarget extends AsyncDisposable {
  readonly cluster: OpenCluster
  readonly namespace: string
  readonly release: Release
  readonly helm: () => Helm
}

/** Opens the cluster without calling it or Helm. */
export async function openInstallTarget(flags: TargetFlags, helm: HelmFlags, settings: Settings): Promise<InstallTarget> {
  const choice = { kubeconfig: flags.kubeConfigPath, context: flags.kubeContextName, inCluster: flags.inCluster }
  const cluster = await openCluster(choice, settings)
  const namespace = flags.kubeNamespace ?? DEFAULT_NAMESPACE
  const where = cluster.kubeconfig === undefined ? {} : { kubeconfig: cluster.kubeconfig, context: cluster.context }
  return {
    cluster,
    namespace,
    release: { name: RELEASE_NAME, namespace },
    helm: () => openHelm({ ...helm, ...where, settings }),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

export interface Parts {
  readonly agent: boolean
  readonly runtime: boolean
  readonly monitor: boolean
  readonly appProxy: boolean
}

/** Returns the parts of a release according to its values; none without a release. Pure. */
export function partsOf(values: Tree | undefined): Parts {
  if (values === undefined) return { agent: false, runtime: false, monitor: false, appProxy: false }
  const isOn = (key: string, fallback: boolean): boolean => {
    const part = values[key]
    const value = isRecord(part) ? part['enabled'] : undefined
    return typeof value === 'boolean' ? value : fallback
  }
  const runtime = values['runtime']
  const account = isRecord(runtime) && isRecord(runtime['serviceAccount']) ? runtime['serviceAccount']['create'] : undefined
  return {
    agent: isOn('runner', true),
    runtime: account !== false,
    monitor: isOn('monitor', false),
    appProxy: isOn('appProxy', false),
  }
}

/** Adds parts to those of a release. Pure. */
export function joinParts(before: Tree | undefined, parts: Omit<Parts, 'appProxy'>): Omit<Parts, 'appProxy'> {
  const had = partsOf(before)
  return { agent: had.agent || parts.agent, runtime: had.runtime || parts.runtime, monitor: had.monitor || parts.monitor }
}
