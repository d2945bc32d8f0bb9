/** What the state of the pod of a job means for the job. Pure. */
import type { KubeObject } from '@windlass/kube'
import { z } from 'zod'
import { pullFailureReason, type FailureReason } from '../../coordinator/failure-reasons.ts'

const State = z.looseObject({
  waiting: z.looseObject({ reason: z.string().optional(), message: z.string().optional() }).optional(),
  running: z.looseObject({}).optional(),
  terminated: z
    .looseObject({ reason: z.string().optional(), message: z.string().optional(), exitCode: z.int().optional() })
    .optional(),
})
const ContainerStatus = z.looseObject({ name: z.string(), image: z.string().optional(), state: State.optional() })
const PodShape = z.looseObject({
  spec: z
    .looseObject({
      nodeName: z.string().optional(),
      containers: z
        .array(
          z.looseObject({
            name: z.string(),
            image: z.string().optional(),
            resources: z.looseObject({ limits: z.record(z.string(), z.unknown()).optional() }).optional(),
          }),
        )
        .optional(),
    })
    .optional(),
  status: z
    .looseObject({
      phase: z.string().optional(),
      reason: z.string().optional(),
      message: z.string().optional(),
      conditions: z
        .array(
          z.looseObject({ type: z.string(), status: z.string(), reason: z.string().optional(), message: z.string().optional() }),
        )
        .optional(),
      containerStatuses: z.array(ContainerStatus).optional(),
      initContainerStatuses: z.array(ContainerStatus).optional(),
    })
    .optional(),
})
type PodShape = z.infer<typeof PodShape>

export type PodState =
  /** It does not run yet. `why` is a line for the log of the job, and changes with the reason. `isPlaced`: a node starts it. */
  | { readonly type: 'pending'; readonly why: string; readonly isPlaced: boolean }
  /** An image cannot be pulled. */
  | { readonly type: 'image'; readonly image: string; readonly message: string; readonly reason: FailureReason }
  /** `isOver`: the container of the job has ended by itself, as it does when the log has the end of the job. */
  | { readonly type: 'running'; readonly isOver: boolean }
  | { readonly type: 'failed'; readonly message: string; readonly reason: FailureReason }

const IMAGE_REASONS: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'RegistryUnavailable',
])
const CONFIGURATION_REASONS: ReadonlySet<string> = new Set([
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'CrashLoopBackOff',
  'RunContainerError',
])
/** Containers that a job cannot do without. A service may end. */
const NEEDED: ReadonlySet<string> = new Set(['build', 'helper'])

/** Returns the state of a pod for its job. */
export function podState(object: KubeObject): PodState {
  const pod: PodShape = PodShape.catch({}).parse(object)
  const { phase = 'Pending', reason, message, containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {}
  const name = `${object.metadata.namespace ?? ''}/${object.metadata.name}`
  if (object.metadata.deletionTimestamp !== undefined) return lost(`the pod ${name} was deleted`)
  for (const status of [...initContainerStatuses, ...containerStatuses]) {
    const problem = problemOf(status, pod)
    if (problem !== undefined) return problem
  }
  if (reason === 'DeadlineExceeded')
    return { type: 'failed', message: 'the job took longer than its time limit', reason: 'job_execution_timeout' }
  if (phase === 'Failed' || phase === 'Succeeded')
    return lost(
      [`the pod ${name} has ended: ${reason ?? phase}`, message].filter((part) => part !== undefined && part !== '').join(': '),
    )
  const stateOf = (wanted: string) => containerStatuses.find(({ name: one }) => one === wanted)?.state
  const isOver = stateOf('build')?.terminated !== undefined
  if (stateOf('helper')?.running !== undefined && (isOver || stateOf('build')?.running !== undefined))
    return { type: 'running', isOver }
  return { type: 'pending', why: whyPending(name, pod), isPlaced: pod.spec?.nodeName !== undefined }
}

function lost(message: string): PodState {
  return { type: 'failed', message, reason: 'runner_system_failure' }
}

function problemOf({ name, image, state }: z.infer<typeof ContainerStatus>, pod: PodShape): PodState | undefined {
  const { reason = '', message = '' } = state?.waiting ?? {}
  if (IMAGE_REASONS.has(reason)) {
    const shown = pod.spec?.containers?.find((container) => container.name === name)?.image ?? image ?? ''
    return { type: 'image', image: shown, message: message === '' ? reason : message, reason: pullFailureReason(message) }
  }
  if (CONFIGURATION_REASONS.has(reason))
    return {
      type: 'failed',
      message: `the container ${name} cannot start: ${reason}${message === '' ? '' : `: ${message}`}`,
      reason: 'runner_configuration_error',
    }
  const { terminated } = state ?? {}
  if (terminated === undefined || !NEEDED.has(name)) return undefined
  if (name === 'build' && terminated.exitCode === 0) return undefined
  if (terminated.reason === 'OOMKilled') {
    const limit = pod.spec?.containers?.find((container) => container.name === name)?.resources?.limits?.['memory']
    const told = typeof limit === 'string' ? `its limit of ${limit}` : 'what its node has'
    return lost(`the container ${name} was killed because it used more memory than ${told} (OOMKilled)`)
  }
  const why = [terminated.reason, terminated.message].filter((part) => part !== undefined && part !== '').join(': ')
  return lost(`the container ${name} ended with exit code ${terminated.exitCode ?? 'unknown'}${why === '' ? '' : ` (${why})`}`)
}

/** Says what a pod waits for, in the words of the cluster. */
function whyPending(name: string, { spec, status }: PodShape): string {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False')
    return `Waiting for pod ${name} to be scheduled: ${scheduled.reason ?? 'Pending'}: ${scheduled.message ?? 'no message'}`
  const waiting = (status?.containerStatuses ?? []).flatMap(({ name: one, state }) =>
    state?.waiting?.reason === undefined ? [] : [`${one} ${state.waiting.reason}`],
  )
  const node = spec?.nodeName === undefined ? '' : ` on the node ${spec.nodeName}`
  return `Waiting for pod ${name} to be running${node}, status is ${status?.phase ?? 'Pending'}${waiting.length === 0 ? '' : ` (${waiting.join(', ')})`}`
}
