/** Checks the cluster for builds: version, nodes, storage, and pod security of the namespace. */
import { isFault } from '@windlass/kit'
import { checkNodeConditions, checkStorageClass, type Kube } from '@windlass/kube'
import { testCluster } from '../runner/acceptance/test-cluster.ts'
import { messageOf } from './check-way.ts'
import type { Report } from './report.ts'

export interface ClusterCheck {
  readonly kube: Kube
  readonly namespace: string
  /** Storage class of the volume claims of builds. */
  readonly storageClass: string
}

/** Runs the checks. Resolves to false if the cluster cannot be reached. */
export async function checkCluster(check: ClusterCheck, report: Report): Promise<boolean> {
  if (!(await isReachable(check.kube, report))) return false
  const parts = { agent: true, runtime: true, provisioner: true, monitor: true }
  const subject = { kube: check.kube, namespace: check.namespace, parts, localDisks: true }
  report.begin?.('cluster')
  for (const finding of await testCluster(subject)) report(finding)
  for (const [name, look] of [
    ['nodes', checkNodes],
    ['namespace', checkNamespace],
    ['storage class', checkStorage],
  ] as const) {
    report.begin?.(name)
    try {
      await look(check, report)
    } catch (error) {
      if (!isFault(error, 'cluster-refused')) throw error
      report({
        check: 'cluster',
        status: 'warn',
        message: messageOf(error),
        hint: 'Run doctor with an account that has this permission.',
      })
    }
  }
  return true
}

async function isReachable(kube: Kube, report: Report): Promise<boolean> {
  report.begin?.('Kubernetes')
  try {
    await kube.version()
    return true
  } catch (error) {
    const hint =
      'Check the kubeconfig and its context (--kube-config-path, --kube-context-name), and that the API server is running.'
    report({ check: 'Kubernetes', status: 'fail', message: messageOf(error), hint })
    return false
  }
}

const ENFORCE = 'pod-security.kubernetes.io/enforce'

async function checkNamespace({ kube, namespace }: ClusterCheck, report: Report): Promise<void> {
  const found = await kube.find({ kind: 'Namespace', name: namespace })
  if (found === undefined)
    return report({
      check: 'namespace',
      status: 'warn',
      message: `${namespace} does not exist`,
      hint: `Install the Runner with \`windlass runner init\`, or run \`kubectl create namespace ${namespace}\`.`,
    })
  const level = found.metadata.labels?.[ENFORCE] ?? 'privileged'
  report({
    check: 'namespace',
    status: level === 'privileged' ? 'pass' : 'fail',
    message: `${namespace} admits ${level} pods`,
    hint:
      level === 'privileged'
        ? undefined
        : `The Docker daemon of a build needs a privileged pod. Run \`kubectl label namespace ${namespace} ${ENFORCE}=privileged --overwrite\`.`,
  })
}

async function checkNodes({ kube }: ClusterCheck, report: Report): Promise<void> {
  for (const finding of await checkNodeConditions(kube)) report(finding)
}

async function checkStorage({ kube, namespace, storageClass }: ClusterCheck, report: Report): Promise<void> {
  report(await checkStorageClass(kube, { name: storageClass, namespace }))
}
