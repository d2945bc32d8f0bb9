/** Checks the cluster for builds: version, nodes, storage, and pod security of the namespace. */
import { isFault } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { z } from 'zod'
import { testCluster } from '../runner/acceptance/test-cluster.ts'
import { messageOf } from './check-server.ts'
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

const Node = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ unschedulable: z.boolean().default(false) }).prefault({}),
  status: z
    .looseObject({
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string(), message: z.string().default('') })).default([]),
    })
    .prefault({}),
})

/** Reports node conditions that keep builds from being scheduled. */
async function checkNodes({ kube }: ClusterCheck, report: Report): Promise<void> {
  for (const node of await kube.list({ kind: 'Node' })) {
    const { metadata, spec, status } = Node.parse(node)
    const check = `node ${metadata.name}`
    if (spec.unschedulable)
      report({ check, status: 'warn', message: 'is cordoned', hint: `Run \`kubectl uncordon ${metadata.name}\`.` })
    for (const { type, status: value, message } of status.conditions) {
      if (type === 'Ready' && value !== 'True')
        report({ check, status: 'warn', message: `is not ready: ${message}`, hint: 'Check its kubelet.' })
      if (type.endsWith('Pressure') && value === 'True')
        report({
          check,
          status: 'warn',
          message: `${type}: ${message}`,
          hint: 'The kubelet evicts pods in this condition. Free the resource, or add nodes.',
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

async function checkStorage({ kube, namespace, storageClass }: ClusterCheck, report: Report): Promise<void> {
  const found = await kube.find({ kind: 'StorageClass', name: storageClass })
  if (found === undefined)
    return report({
      check: 'storage class',
      status: 'warn',
      message: `${storageClass} does not exist`,
      hint: 'Install the chart with its provisioner, or set another class in the runtime (pvcs.dind.storageClassName). Only an agent that creates disks itself (WINDLASS_AGENT_VOLUME_DIR) needs no class.',
    })
  const { provisioner } = z.looseObject({ provisioner: z.string() }).parse(found)
  if (!provisioner.includes('dind-volume-provisioner'))
    return report({ check: 'storage class', status: 'pass', message: `${storageClass}, provisioned by ${provisioner}` })
  const pods = await kube.list({ kind: 'Pod', namespace, labels: 'codefresh.io/application=volume-provisioner' })
  const isRunning = pods.some((pod) => z.looseObject({ phase: z.string() }).safeParse(pod['status']).data?.phase === 'Running')
  report({
    check: 'storage class',
    status: isRunning ? 'pass' : 'warn',
    message: `${storageClass}, provisioned by the Windlass provisioner, which ${isRunning ? 'is running' : `is not running in ${namespace}`}`,
    hint: isRunning ? undefined : `Run \`kubectl -n ${namespace} get pods -l codefresh.io/application=volume-provisioner\`.`,
  })
}
