/** From a pod alone to a fact about its attempt. Pure; called again for every change of the pod. */
import type { KubeObject } from '@windlass/kube'
import { LABEL, type AgentFact } from '@windlass/protocol'
import { z } from 'zod'
import type { Fact } from '../executor.ts'

const Terminated = z.looseObject({ exitCode: z.int(), reason: z.string().optional(), message: z.string().optional() })
const ContainerStatus = z.looseObject({
  name: z.string(),
  state: z
    .looseObject({
      waiting: z.looseObject({ reason: z.string().optional(), message: z.string().optional() }).optional(),
      terminated: Terminated.optional(),
    })
    .prefault({}),
})
const Condition = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
})
export const PodShape = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z
    .looseObject({
      nodeName: z.string().optional(),
      containers: z
        .array(
          z.looseObject({ ports: z.array(z.looseObject({ name: z.string().optional(), containerPort: z.int() })).default([]) }),
        )
        .default([]),
    })
    .prefault({}),
  status: z
    .looseObject({
      phase: z.string().default('Pending'),
      reason: z.string().optional(),
      message: z.string().optional(),
      podIP: z.string().optional(),
      conditions: z.array(Condition).default([]),
      containerStatuses: z.array(ContainerStatus).default([]),
      initContainerStatuses: z.array(ContainerStatus).default([]),
    })
    .prefault({}),
})
export type PodShape = z.infer<typeof PodShape>

type Reading = Pick<AgentFact, 'state' | 'reason' | 'message' | 'permanent' | 'dockerHost'>

/** Waiting reasons of the kubelet that more patience cannot mend. */
const PERMANENT = ['InvalidImageName', 'ErrImageNeverPull']
const IMAGE = [
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
]
const BROKEN = ['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError', 'CrashLoopBackOff']

/** The attempt whose labels an object carries, or undefined when it carries none of ours. */
export function attemptOf(object: KubeObject): { buildId: string; attempt: number } | undefined {
  const buildId = object.metadata.labels?.[LABEL.build]
  const attempt = Number(object.metadata.labels?.[LABEL.attempt])
  return buildId !== undefined && /^[0-9a-f]{24}$/.test(buildId) && Number.isInteger(attempt) && attempt > 0
    ? { buildId, attempt }
    : undefined
}

/** What a pod says about its attempt, or undefined when it is not a pod of a build. */
export function readPod(object: KubeObject): Fact | undefined {
  const ref = attemptOf(object)
  if (ref === undefined) return undefined
  return { ...ref, object: object.metadata.name, ...readingOf(PodShape.parse(object)) }
}

/** What it means that a pod is gone, by its last form. */
export function readGonePod(object: KubeObject): Fact | undefined {
  const ref = attemptOf(object)
  if (ref === undefined) return undefined
  const last = readingOf(PodShape.parse(object))
  const reading: Reading = last.state === 'lost' ? last : deletedFromOutside(PodShape.parse(object))
  return { ...ref, object: object.metadata.name, ...reading }
}

function readingOf(pod: PodShape): Reading {
  const { phase } = pod.status
  if (phase === 'Failed' || phase === 'Succeeded') return ended(pod)
  if (pod.metadata.deletionTimestamp !== undefined) return deletedFromOutside(pod)
  const address = dockerHost(pod)
  const found = address === undefined ? {} : { dockerHost: address }
  if (phase === 'Running') return { state: 'running', ...found }
  return { ...(unscheduled(pod) ?? waitingContainer(pod) ?? { state: 'starting' }), ...found }
}

/** Reasons of the condition DisruptionTarget: who ends the pod. */
const DISRUPTIONS: Readonly<Record<string, NonNullable<Reading['reason']>>> = {
  EvictionByEvictionAPI: 'evicted',
  PreemptionByScheduler: 'evicted',
  TerminationByKubelet: 'evicted',
  DeletionByTaintManager: 'node-lost',
  DeletionByPodGC: 'node-lost',
}

function deletedFromOutside(pod: PodShape): Reading {
  const disruption = pod.status.conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')
  const reason = DISRUPTIONS[disruption?.reason ?? '']
  if (reason !== undefined)
    return { state: 'lost', reason, message: disruption?.message ?? `The pod ${pod.metadata.name} was evicted.` }
  return { state: 'lost', reason: 'pod-deleted', message: `The pod ${pod.metadata.name} was deleted.` }
}

function ended(pod: PodShape): Reading {
  const { reason, message, containerStatuses } = pod.status
  const words = message ?? reason
  if (reason === 'Evicted') return { state: 'lost', reason: 'evicted', message: words }
  if (reason === 'NodeLost' || reason === 'NodeShutdown' || reason === 'Terminated')
    return { state: 'lost', reason: 'node-lost', message: words }
  const terminated = containerStatuses.map(({ state }) => state.terminated).find((state) => state !== undefined)
  // The kubelet refused the pod before it ran a container.
  if (terminated === undefined && reason !== undefined)
    return { state: 'lost', reason: 'pod-rejected', message: `${reason}: ${message ?? ''}` }
  const isDind = pod.metadata.labels[LABEL.app] === 'dind'
  const how = terminated === undefined ? (words ?? pod.status.phase) : describeEnd(terminated)
  const what = isDind ? 'The Docker daemon' : 'The engine'
  const why = terminated === undefined || reason === undefined ? '' : ` (${reason}: ${message ?? ''})`
  return { state: 'lost', reason: isDind ? 'dind-lost' : 'engine-lost', message: `${what} ended: ${how}${why}.` }
}

function describeEnd({ exitCode, reason, message }: z.infer<typeof Terminated>): string {
  const cause = reason === undefined || reason === 'Error' || reason === 'Completed' ? '' : `${reason}, `
  return `${cause}exit code ${exitCode}${message === undefined ? '' : `: ${message}`}`
}

function unscheduled(pod: PodShape): Reading | undefined {
  const condition = pod.status.conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
  if (condition === undefined) return undefined
  const message = condition.message ?? condition.reason ?? ''
  const isDisk = /persistentvolume|volume node affinity/i.test(message)
  return { state: 'waiting', reason: isDisk ? 'disk-unavailable' : 'unschedulable', message }
}

function waitingContainer(pod: PodShape): Reading | undefined {
  const { initContainerStatuses, containerStatuses } = pod.status
  for (const { name, state } of [...initContainerStatuses, ...containerStatuses]) {
    const cause = state.waiting?.reason ?? ''
    const message = `container ${name}: ${cause}: ${state.waiting?.message ?? ''}`
    if (IMAGE.includes(cause))
      return { state: 'waiting', reason: 'pod-image-error', message, permanent: PERMANENT.includes(cause) }
    if (BROKEN.includes(cause)) return { state: 'waiting', reason: 'pod-failed', message }
  }
  return undefined
}

function dockerHost(pod: PodShape): string | undefined {
  const { podIP } = pod.status
  const port = pod.spec.containers.flatMap(({ ports }) => ports).find(({ name }) => name === 'docker')?.containerPort
  if (podIP === undefined || port === undefined || pod.metadata.labels[LABEL.app] !== 'dind') return undefined
  return `tcp://${podIP.includes(':') ? `[${podIP}]` : podIP}:${port}`
}
