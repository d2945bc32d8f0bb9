/** Summarizes objects for lists. Pure. Only the fields named here leave the cluster: no environment, arguments, data or annotations. */
import type { KubeObject } from '@windlass/kube'
import type { MonitoredKind, ObjectSummary } from '@windlass/protocol'
import { z } from 'zod'

/** Returns the summary of an object of a kind, without the fields that the object does not have. */
export function summarize(kind: MonitoredKind, object: KubeObject): ObjectSummary {
  return SUMMARIES[kind](object)
}

type Summarize = (object: KubeObject) => ObjectSummary

const Count = z.int().catch(0).default(0)
const Condition = z.looseObject({ type: z.string(), status: z.string(), reason: z.string().optional() })
const Conditions = z.array(Condition).default([])
const Quantities = z.record(z.string(), z.string()).default({})
const Images = z.looseObject({ containers: z.array(z.looseObject({ image: z.string().default('') })).default([]) })

const Template = z.looseObject({ template: z.looseObject({ spec: Images }).optional() })
const Workload = z.looseObject({
  spec: Template.extend({ replicas: Count }).prefault({}),
  status: z
    .looseObject({
      readyReplicas: Count,
      updatedReplicas: Count,
      desiredNumberScheduled: Count,
      numberReady: Count,
      conditions: Conditions,
    })
    .prefault({}),
})

const Pod = z.looseObject({
  spec: Images.extend({ nodeName: z.string().optional() }).prefault({}),
  status: z
    .looseObject({
      phase: z.string().default('Unknown'),
      reason: z.string().optional(),
      containerStatuses: z
        .array(
          z.looseObject({
            ready: z.boolean().default(false),
            restartCount: Count,
            state: z.looseObject({ waiting: z.looseObject({ reason: z.string().optional() }).optional() }).default({}),
          }),
        )
        .default([]),
    })
    .prefault({}),
})

const Node = z.looseObject({
  spec: z.looseObject({ unschedulable: z.boolean().default(false) }).prefault({}),
  status: z
    .looseObject({
      conditions: Conditions,
      allocatable: Quantities,
      nodeInfo: z.looseObject({ kubeletVersion: z.string().optional(), architecture: z.string().optional() }).prefault({}),
    })
    .prefault({}),
})

const Service = z.looseObject({
  spec: z
    .looseObject({
      type: z.string().default('ClusterIP'),
      clusterIP: z.string().optional(),
      ports: z.array(z.looseObject({ port: z.int(), protocol: z.string().default('TCP') })).default([]),
    })
    .prefault({}),
})

const Ingress = z.looseObject({
  spec: z
    .looseObject({
      ingressClassName: z.string().optional(),
      rules: z.array(z.looseObject({ host: z.string().optional() })).default([]),
    })
    .prefault({}),
})

const Volume = z.looseObject({
  spec: z
    .looseObject({
      storageClassName: z.string().optional(),
      volumeName: z.string().optional(),
      capacity: Quantities,
      resources: z.looseObject({ requests: Quantities }).prefault({}),
      claimRef: z.looseObject({ namespace: z.string().default(''), name: z.string().default('') }).optional(),
      persistentVolumeReclaimPolicy: z.string().optional(),
    })
    .prefault({}),
  status: z.looseObject({ phase: z.string().optional() }).prefault({}),
})

const Job = z.looseObject({
  spec: z.looseObject({ completions: Count }).prefault({}),
  status: z.looseObject({ active: Count, succeeded: Count, failed: Count, conditions: Conditions }).prefault({}),
})

const CronJob = z.looseObject({
  spec: z.looseObject({ schedule: z.string().default(''), suspend: z.boolean().default(false) }).prefault({}),
  status: z.looseObject({ lastScheduleTime: z.string().optional() }).prefault({}),
})

const SUMMARIES: Readonly<Record<MonitoredKind, Summarize>> = {
  Namespace: (object) => withoutEmpty({ status: Volume.parse(object).status.phase }),
  Node: (object) => {
    const { spec, status } = Node.parse(object)
    const ready = status.conditions.find(({ type }) => type === 'Ready')
    return withoutEmpty({
      ready: ready?.status === 'True',
      reason: ready?.status === 'True' ? undefined : ready?.reason,
      schedulable: !spec.unschedulable,
      version: status.nodeInfo.kubeletVersion,
      architecture: status.nodeInfo.architecture,
      cpu: status.allocatable['cpu'],
      memory: status.allocatable['memory'],
    })
  },
  Pod: (object) => {
    const { spec, status } = Pod.parse(object)
    const containers = status.containerStatuses
    const waiting = containers.map(({ state }) => state.waiting?.reason).find((reason) => reason !== undefined)
    return withoutEmpty({
      status: waiting ?? status.reason ?? status.phase,
      ready: `${containers.filter(({ ready }) => ready).length}/${spec.containers.length}`,
      restarts: containers.reduce((sum, { restartCount }) => sum + restartCount, 0),
      node: spec.nodeName,
      images: imagesOf(spec),
    })
  },
  Deployment: workload,
  StatefulSet: workload,
  DaemonSet: (object) => {
    const { spec, status } = Workload.parse(object)
    return withoutEmpty({
      ready: `${status.numberReady}/${status.desiredNumberScheduled}`,
      images: spec.template && imagesOf(spec.template.spec),
    })
  },
  Job: (object) => {
    const { status } = Job.parse(object)
    const end = status.conditions.find(({ type, status: value }) => value === 'True' && ['Complete', 'Failed'].includes(type))
    return withoutEmpty({
      status: end?.type ?? (status.active > 0 ? 'Running' : 'Pending'),
      reason: end?.reason,
      succeeded: status.succeeded,
      failed: status.failed,
    })
  },
  CronJob: (object) => {
    const { spec, status } = CronJob.parse(object)
    return withoutEmpty({ schedule: spec.schedule, suspended: spec.suspend, lastRun: status.lastScheduleTime })
  },
  Service: (object) => {
    const { spec } = Service.parse(object)
    const ports = spec.ports.map(({ port, protocol }) => `${port}/${protocol}`).join(',')
    return withoutEmpty({ type: spec.type, clusterIP: spec.clusterIP, ports })
  },
  Ingress: (object) => {
    const { spec } = Ingress.parse(object)
    const hosts = spec.rules.map(({ host }) => host ?? '*').join(',')
    return withoutEmpty({ class: spec.ingressClassName, hosts })
  },
  PersistentVolumeClaim: (object) => {
    const { spec, status } = Volume.parse(object)
    return withoutEmpty({
      status: status.phase,
      class: spec.storageClassName,
      volume: spec.volumeName,
      size: spec.resources.requests['storage'],
    })
  },
  PersistentVolume: (object) => {
    const { spec, status } = Volume.parse(object)
    return withoutEmpty({
      status: status.phase,
      class: spec.storageClassName,
      size: spec.capacity['storage'],
      claim: spec.claimRef && `${spec.claimRef.namespace}/${spec.claimRef.name}`,
      reclaim: spec.persistentVolumeReclaimPolicy,
    })
  },
  // Helm 3 and later store the name, status and revision of a release in the labels of its Secret.
  HelmRelease: ({ metadata: { labels } }) =>
    withoutEmpty({ status: labels?.['status'], revision: labels?.['version'], release: labels?.['name'] }),
}

function workload(object: KubeObject): ObjectSummary {
  const { spec, status } = Workload.parse(object)
  const failing = status.conditions.find(
    ({ type, status: value }) => (type === 'ReplicaFailure' && value === 'True') || (type === 'Progressing' && value === 'False'),
  )
  return withoutEmpty({
    ready: `${status.readyReplicas}/${spec.replicas}`,
    updated: status.updatedReplicas,
    reason: failing?.reason,
    images: spec.template && imagesOf(spec.template.spec),
  })
}

function imagesOf({ containers }: z.infer<typeof Images>): string {
  return containers
    .map(({ image }) => image)
    .join(' ')
    .slice(0, 2000)
}

function withoutEmpty(fields: Readonly<Record<string, string | number | boolean | undefined>>): ObjectSummary {
  const entries = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value] as const],
  )
  return Object.fromEntries(entries)
}
