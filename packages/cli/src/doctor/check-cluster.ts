/** The cluster that builds are to run in: its version, nodes, storage, and what the namespace lets run. */
import { isFault } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { z } from 'zod'
import { testCluster } from '../runner/acceptance/test-cluster.ts'
import { wordsOf } from './check-server.ts'
import type { Report } from './report.ts'

export interface ClusterCheck {
  readonly kube: Kube
  readonly namespace: string
  /** The class that claims of builds name. */
  readonly storageClass: string
}

/** False when the cluster cannot be reached, and nothing more can be told. */
export async function checkCluster(check: ClusterCheck, report: Report): Promise<boolean> {
  if (!(await isReachable(check.kube, report))) return false
  const parts = { agent: true, runtime: true, provisioner: true, monitor: true }
  const subject = { kube: check.kube, namespace: check.namespace, parts, localDisks: true }
  for (const finding of await testCluster(subject)) report(finding)
  for (const look of [checkNodes, checkNamespace, checkStorage]) {
    try {
      await look(check, report)
    } catch (error) {
      if (!isFault(error, 'cluster-refused')) throw error
      report({ check: 'cluster', status: 'warn', message: wordsOf(error), hint: 'Ask as somebody who may read this.' })
    }
  }
  return true
}

async function isReachable(kube: Kube, report: Report): Promise<boolean> {
  try {
    await kube.version()
    return true
  } catch (error) {
    const hint = 'Check the kubeconfig and its context (--kube-config-path, --kube-context-name), and that its API server is up.'
    report({ check: 'Kubernetes', status: 'fail', message: wordsOf(error), hint })
    return false
  }
}

const Node = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ unschedulable: z.boolean().default(false) }).prefault({}),
  status: z
    .looseObject({
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string(), message: z.string().default('') })).default([]),
    })
    .prefault({}),
})

/** What keeps builds from nodes that are large enough. */
async function checkNodes({ kube }: ClusterCheck, report: Report): Promise<void> {
  for (const node of await kube.list({ kind: 'Node' })) {
    const { metadata, spec, status } = Node.parse(node)
    const check = `node ${metadata.name}`
    if (spec.unschedulable)
      report({ check, status: 'warn', message: 'takes no new pods', hint: `kubectl uncordon ${metadata.name}` })
    for (const { type, status: value, message } of status.conditions) {
      if (type === 'Ready' && value !== 'True')
        report({ check, status: 'warn', message: `is not ready: ${message}`, hint: 'Look at its kubelet.' })
      if (type.endsWith('Pressure') && value === 'True')
        report({
          check,
          status: 'warn',
          message: `${type}: ${message}`,
          hint: 'The kubelet evicts pods while this lasts. Free what it names, or add nodes.',
        })
    }
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
      hint: `Install the Runner (windlass runner init), or: kubectl create namespace ${namespace}`,
    })
  const level = found.metadata.labels?.[ENFORCE] ?? 'privileged'
  report({
    check: 'namespace',
    status: level === 'privileged' ? 'pass' : 'fail',
    message: `${namespace} admits ${level} pods`,
    hint:
      level === 'privileged'
        ? undefined
        : `The Docker daemon of a build needs a privileged pod: kubectl label namespace ${namespace} ${ENFORCE}=privileged --overwrite`,
  })
}

async function checkStorage({ kube, namespace, storageClass }: ClusterCheck, report: Report): Promise<void> {
  const found = await kube.find({ kind: 'StorageClass', name: storageClass })
  if (found === undefined)
    return report({
      check: 'storage class',
      status: 'warn',
      message: `${storageClass} does not exist`,
      hint: 'Only an agent that makes disks by itself (WINDLASS_AGENT_VOLUME_DIR) needs none. Else install the chart with its provisioner, or name another class in the runtime (pvcs.dind.storageClassName).',
    })
  const { provisioner } = z.looseObject({ provisioner: z.string() }).parse(found)
  if (!provisioner.includes('dind-volume-provisioner'))
    return report({ check: 'storage class', status: 'pass', message: `${storageClass}, made by ${provisioner}` })
  const pods = await kube.list({ kind: 'Pod', namespace, labels: 'codefresh.io/application=volume-provisioner' })
  const isRunning = pods.some((pod) => z.looseObject({ phase: z.string() }).safeParse(pod['status']).data?.phase === 'Running')
  report({
    check: 'storage class',
    status: isRunning ? 'pass' : 'warn',
    message: `${storageClass}, made by our provisioner, which ${isRunning ? 'runs' : `does not run in ${namespace}`}`,
    hint: isRunning ? undefined : `kubectl -n ${namespace} get pods -l codefresh.io/application=volume-provisioner`,
  })
}
