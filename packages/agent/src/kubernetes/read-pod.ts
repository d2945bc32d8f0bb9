/** Derives a fact about an attempt from a pod alone. Pure; called for every change of the pod. */
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
      running: z.looseObject({}).optional(),
      terminated: Terminated.optional(),
    })
    .prefault({}),
  lastState: z.looseObject({ terminated: Terminated.optional() }).prefault({}),
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
    deletionGracePeriodSeconds: z.int().optional(),
  }),
  spec: z
    .looseObject({
      nodeName: z.string().optional(),
      restartPolicy: z.string().optional(),
      terminationGracePeriodSeconds: z.int().optional(),
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

type Reading = Pick<AgentFact, 'state' | 'reason' | 'message' | 'permanent' | 'dockerHost' | 'engineMayReport'>

/** Waiting reasons of the kubelet that do not go away by waiting. */
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

/** Returns the attempt in the labels of an object, or undefined if it has none. */
export function attemptOf(object: KubeObject): { buildId: string; attempt: number } | undefined {
  const buildId = object.metadata.labels?.[LABEL.build]
  const attempt = Number(object.metadata.labels?.[LABEL.attempt])
  return buildId !== undefined && /^[0-9a-f]{24}$/.test(buildId) && Number.isInteger(attempt) && attempt > 0
    ? { buildId, attempt }
    : undefined
}

/** Returns the fact that a pod shows, or undefined if it is not a pod of a build. */
export function readPod(object: KubeObject): Fact | undefined {
  const ref = attemptOf(object)
  if (ref === undefined) return undefined
  return { ...ref, object: object.metadata.name, ...readingOf(PodShape.parse(object)) }
}

/** Returns the state of a pod of a build, whichever protocol created it. */
export function stateOf(object: KubeObject): Fact['state'] {
  return readingOf(PodShape.parse(object)).state
}

/** Returns the fact that the deletion of a pod shows, from its last state. */
export function readGonePod(object: KubeObject): Fact | undefined {
  const ref = attemptOf(object)
  if (ref === undefined) return undefined
  const pod = PodShape.parse(object)
  const { engineMayReport: _, ...last } = readingOf(pod)
  const reading: Reading = last.state === 'lost' ? last : deletedFromOutside(pod)
  return { ...ref, object: object.metadata.name, ...reading }
}

function readingOf(pod: PodShape): Reading {
  const { phase } = pod.status
  if (phase === 'Failed' || phase === 'Succeeded') return ended(pod)
  if (pod.metadata.deletionTimestamp !== undefined)
    return { ...deletedFromOutside(pod), ...(isEngineRunning(pod) && { engineMayReport: true }) }
  const restarted = restartedEnd(pod)
  if (restarted !== undefined) return { ...endOf(pod, restarted), engineMayReport: true }
  const address = dockerHost(pod)
  const found = address === undefined ? {} : { dockerHost: address }
  const own = ownContainer(pod)
  // A sidecar keeps the pod in the phase Running after its engine or daemon ended.
  if (own?.state.terminated !== undefined) return ended(pod)
  const runs = own === undefined ? phase === 'Running' : own.state.running !== undefined
  if (runs) return { state: 'running', ...found }
  return { ...(unscheduled(pod) ?? waitingContainer(pod) ?? { state: 'starting' }), ...found }
}

/** Name of the container of the engine or daemon, by the label of its pod. Others are sidecars that the cluster adds. */
const OWN_CONTAINER: Readonly<Record<string, string>> = { runtime: 'engine', dind: 'dind' }

/**
 * Returns the state of the engine or daemon, or undefined if the kubelet has not reported it yet. The phase covers all containers together.
 */
export function ownContainer({ metadata, status }: PodShape): z.infer<typeof ContainerStatus> | undefined {
  const own = OWN_CONTAINER[metadata.labels[LABEL.app] ?? '']
  return status.containerStatuses.find(({ name }) => name === own)
}

/** Whether the engine still runs. An engine that is stopped sends what it can before it ends. */
function isEngineRunning(pod: PodShape): boolean {
  return !isDind(pod) && ownContainer(pod)?.state.running !== undefined
}

/**
 * Returns how an engine ended that the kubelet restarts or has restarted. A restarted engine runs no steps, but sends the rest of its
 * spool.
 */
function restartedEnd(pod: PodShape): z.infer<typeof Terminated> | undefined {
  if (isDind(pod) || pod.spec.restartPolicy !== 'OnFailure') return undefined
  const { state, lastState } = ownContainer(pod) ?? {}
  const end = state?.terminated
  return end === undefined ? lastState?.terminated : end.exitCode === 0 ? undefined : end
}

/** Whether the container of an engine has restarted or waits for it. The previous log is then that of the ended container. */
export function hasStartedAgain(object: KubeObject): boolean {
  return ownContainer(PodShape.parse(object))?.state.terminated === undefined
}

function isDind({ metadata }: PodShape): boolean {
  return metadata.labels[LABEL.app] === 'dind'
}

/** Reasons of the condition DisruptionTarget, which name the cause of the deletion. */
const DISRUPTIONS: Readonly<Record<string, NonNullable<Reading['reason']>>> = {
  EvictionByEvictionAPI: 'evicted',
  PreemptionByScheduler: 'evicted',
  TerminationByKubelet: 'evicted',
  DeletionByTaintManager: 'node-lost',
  DeletionByPodGC: 'node-lost',
}

/**
 * Grace with which an agent deletes the pods of an attempt that finds no room. Kubernetes keeps it in the metadata of a placed pod, where the
 * next agent recognizes it: agents must not patch pods, so they cannot annotate them. No other deletion of a daemon has this grace: a stop has
 * at least 5 s (`remove.ts`), kubectl and Kubernetes have 0, 1, 30 or that of the pod by default. Seconds.
 */
export const ROOM_GRACE_SECONDS = 3

/**
 * Whether an agent is deleting this daemon to make room. False if the grace does not tell it: the pod has the same one in its spec, or its
 * condition names another cause. A deletion by a user with exactly this grace counts as one by an agent.
 */
export function isMakingRoom(object: KubeObject): boolean {
  const pod = PodShape.parse(object)
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata
  if (!isDind(pod) || deletionTimestamp === undefined || deletionGracePeriodSeconds !== ROOM_GRACE_SECONDS) return false
  return pod.spec.terminationGracePeriodSeconds !== ROOM_GRACE_SECONDS && deletedFromOutside(pod).reason === 'pod-deleted'
}

function deletedFromOutside(pod: PodShape): Reading {
  const disruption = pod.status.conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')
  const reason = DISRUPTIONS[disruption?.reason ?? '']
  if (reason !== undefined) {
    const message = disruption?.message ?? `The pod ${pod.metadata.name} was evicted.`
    return { state: 'lost', reason: isNodeDiskFull(message) ? 'node-disk-full' : reason, message }
  }
  return { state: 'lost', reason: 'pod-deleted', message: `The pod ${pod.metadata.name} was deleted.` }
}

/**
 * Messages of Kubernetes about a full disk of a node: of the kubelet that evicts (`The node was low on resource: ephemeral-storage`) or refuses a pod
 * (`The node had condition: [DiskPressure]`), of the scheduler (`untolerated taint(s) {node.kubernetes.io/disk-pressure: }`), and of the container
 * runtime, which has nowhere to put an image or a container. The message about a pod over its own limit differs.
 */
const NODE_DISK_FULL =
  /low on resource: (ephemeral-storage|inodes)|DiskPressure|node\.kubernetes\.io\/disk-pressure|no space left on device/i

export function isNodeDiskFull(message: string): boolean {
  return NODE_DISK_FULL.test(message)
}

function ended(pod: PodShape): Reading {
  const { reason, message, containerStatuses } = pod.status
  const cause = message ?? reason
  if (reason === 'Evicted')
    return { state: 'lost', reason: isNodeDiskFull(cause ?? '') ? 'node-disk-full' : 'evicted', message: cause }
  if (reason === 'NodeLost' || reason === 'NodeShutdown' || reason === 'Terminated')
    return { state: 'lost', reason: 'node-lost', message: cause }
  const terminated =
    ownContainer(pod)?.state.terminated ??
    containerStatuses.map(({ state }) => state.terminated).find((state) => state !== undefined)
  // The kubelet refused the pod before running a container.
  if (terminated === undefined && reason !== undefined) {
    const refused = `${reason}: ${message ?? ''}`
    return { state: 'lost', reason: isNodeDiskFull(refused) ? 'node-disk-full' : 'pod-rejected', message: refused }
  }
  return endOf(pod, terminated)
}

function endOf(pod: PodShape, terminated: z.infer<typeof Terminated> | undefined): Reading {
  const { reason, message, phase } = pod.status
  const how = terminated === undefined ? (message ?? reason ?? phase) : describeEnd(terminated)
  const what = isDind(pod) ? 'The Docker daemon' : 'The engine'
  const why = terminated === undefined || reason === undefined ? '' : ` (${reason}: ${message ?? ''})`
  return { state: 'lost', reason: reasonOf(pod, terminated), message: `${what} ended: ${how}${why}.` }
}

/** Start of the termination message of a daemon whose disk is full (images/dind/run). */
const DISK_FULL = 'No space left on device'

function reasonOf(pod: PodShape, terminated: z.infer<typeof Terminated> | undefined): Reading['reason'] {
  if (!isDind(pod)) return 'engine-lost'
  return terminated?.message?.startsWith(DISK_FULL) === true ? 'disk-full' : 'dind-lost'
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
  const reason = isDisk ? 'disk-unavailable' : isNodeDiskFull(message) ? 'node-disk-full' : 'unschedulable'
  return { state: 'waiting', reason, message }
}

function waitingContainer(pod: PodShape): Reading | undefined {
  const { initContainerStatuses, containerStatuses } = pod.status
  for (const { name, state } of [...initContainerStatuses, ...containerStatuses]) {
    const cause = state.waiting?.reason ?? ''
    const message = `container ${name}: ${cause}: ${state.waiting?.message ?? ''}`
    if (cause !== '' && isNodeDiskFull(message)) return { state: 'waiting', reason: 'node-disk-full', message }
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
