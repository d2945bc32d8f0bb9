/** Where a GitOps runtime is installed: a cluster, a namespace, and its Helm release. */
import type { Kube } from '@windlass/kube'
import type { Settings } from '../config.ts'
import { openCluster, type OpenCluster } from '../runner/cluster/open-cluster.ts'
import { openHelm, type Helm, type Release } from '../runner/helm/helm.ts'
import { DEFAULT_NAMESPACE } from '../runner/init/names.ts'
import { RELEASE_NAME } from './names.ts'

export interface TargetFlags {
  readonly kubeContextName?: string | undefined
  readonly kubeNamespace?: string | undefined
  readonly kubeConfigPath?: string | undefined
  readonly helm?: string | undefined
  readonly chart?: string | undefined
}

export interface GitopsTarget extends AsyncDisposable {
  readonly cluster: OpenCluster
  readonly namespace: string
  readonly release: Release
  readonly helm: Helm
}

/** Opens the cluster and Helm without calling them. Throws `config-invalid`, `file-not-found`. */
export async function openGitopsTarget(flags: TargetFlags, settings: Settings): Promise<GitopsTarget> {
  const choice = { kubeconfig: flags.kubeConfigPath, context: flags.kubeContextName }
  const cluster = await openCluster(choice, settings)
  const namespace = flags.kubeNamespace ?? DEFAULT_NAMESPACE
  const where = cluster.kubeconfig === undefined ? {} : { kubeconfig: cluster.kubeconfig, context: cluster.context }
  const { helm: program, chart } = flags
  return {
    cluster,
    namespace,
    release: { name: RELEASE_NAME, namespace },
    helm: openHelm({ helm: program, chart, chartName: 'windlass-gitops-runtime', ...where, settings }),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

/** Creates the namespace if it does not exist. A new one admits pods of the level `restricted` only, which those of the runtime comply with. */
export async function ensureRestrictedNamespace(kube: Kube, namespace: string): Promise<void> {
  if ((await kube.find({ kind: 'Namespace', name: namespace })) !== undefined) return
  const labels = { 'app.kubernetes.io/managed-by': 'windlass', 'pod-security.kubernetes.io/enforce': 'restricted' }
  await kube.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } }, [])
}
