/** Where a part of the Runner goes: a cluster, a namespace, and the release that is there already. */
import type { Settings } from '../../config.ts'
import { openCluster, type OpenCluster } from '../cluster/open-cluster.ts'
import { openHelm, type Helm, type Release } from '../helm/helm.ts'
import { DEFAULT_NAMESPACE } from '../init/names.ts'
import { isTree, type Tree } from '../values/read-values.ts'

/** Name of the Helm release of a namespace, whatever parts it has. */
export const RELEASE_NAME = 'windlass-runtime'

export interface PlaceFlags {
  readonly kubeContextName?: string | undefined
  readonly kubeNamespace?: string | undefined
  readonly kubeConfigPath?: string | undefined
  readonly inCluster?: boolean | undefined
}

export interface HelmFlags {
  readonly helm?: string | undefined
  readonly chart?: string | undefined
}

export interface InstallPlace extends AsyncDisposable {
  readonly cluster: OpenCluster
  readonly namespace: string
  readonly release: Release
  readonly helm: () => Helm
}

/** Opens the cluster; asks neither it nor Helm. */
export async function openInstallPlace(flags: PlaceFlags, helm: HelmFlags, settings: Settings): Promise<InstallPlace> {
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
}

/** The parts of a release, by the values it was installed with; none without a release. Pure. */
export function partsOf(values: Tree | undefined): Parts {
  if (values === undefined) return { agent: false, runtime: false, monitor: false }
  const isOn = (key: string, fallback: boolean): boolean => {
    const part = values[key]
    const said = isTree(part) ? part['enabled'] : undefined
    return typeof said === 'boolean' ? said : fallback
  }
  const runtime = values['runtime']
  const account = isTree(runtime) && isTree(runtime['serviceAccount']) ? runtime['serviceAccount']['create'] : undefined
  return { agent: isOn('runner', true), runtime: account !== false, monitor: isOn('monitor', false) }
}

/** Values of a release with one more part: what it has stays as it was, the new part says the rest. Pure. */
export function joinParts(before: Tree | undefined, parts: Parts): Parts {
  const had = partsOf(before)
  return { agent: had.agent || parts.agent, runtime: had.runtime || parts.runtime, monitor: had.monitor || parts.monitor }
}
