/** The objects of an attempt, made again from rows for each hand-over. */
import { attemptNames, issueCertificates, renderAttempt, type AttemptNames, type DockerCertificates } from '@windlass/manifests'
import type { Task } from '@windlass/protocol'
import type { App } from '../app.ts'
import { bootstrapSecret } from '../builds/elect.ts'
import { readLimits } from '../builds/limits.ts'
import { readRequest } from '../builds/request.ts'
import { authorityCertificate } from '../certificates/certificates.ts'
import { listRuntimeStores } from '../contexts/runtime-stores.ts'
import { findBuild, findBuildPlan } from '../store/builds.ts'
import { listPairsOf } from '../store/warm-pairs.ts'
import type { AttemptRow, TaskRow, WarmPairRow } from '../store/schema.ts'
import { PAIR_ATTEMPT } from '../warm/pairs.ts'
import { readStartPayload } from './payload.ts'

export type Rendered = Pick<Extract<Task, { kind: 'start-attempt' }>, 'objects' | 'disk'>

/** The credential that the engine of an attempt exchanges once. */
export function bootstrapOf(app: App, attempt: AttemptRow): string {
  return `${attempt.bootstrap_id}.${bootstrapSecret(app, attempt.build_id, attempt.number)}`
}

/** The objects that a start task is about, as the protocol of its attempt has them; none for runtimes that have no objects. */
export async function renderTask(app: App, task: TaskRow, attempt: AttemptRow): Promise<Rendered> {
  const { type, spec } = readStartPayload(task)
  const build = await findBuild(app.store.query, task.account_id, task.build_id)
  const isPolled = attempt.protocol === 1
  if ((type !== 'kubernetes' && !isPolled) || build === undefined) return { objects: [] }
  const stored = await findBuildPlan(app.store.query, task.build_id)
  const now = app.clock.now()
  const { objects, disk } = renderAttempt({
    buildId: task.build_id,
    attempt: task.attempt,
    runtime: { name: task.runtime, spec },
    account: app.accountName,
    pipelineId: build.pipeline_id ?? undefined,
    projectId: build.project_id ?? undefined,
    trigger: build.trigger,
    branch: build.branch ?? undefined,
    serverUrl: app.advertisedUrl(),
    serverCa: app.serverCa,
    bootstrap: bootstrapOf(app, attempt),
    certificates: isPolled
      ? await lastingCertificates(app)
      : issueCertificates({ now, validMs: readLimits(attempt).buildMs + CERTIFICATE_SLACK_MS }),
    now,
    // A reset belongs to the first attempt; the later ones go on with what it left.
    resetVolume: stored !== undefined && task.attempt === 1 && readRequest(stored).resetVolume,
    builds: [
      build.id,
      ...(await listPairsOf(app.store.query, build.id)),
      ...(build.restart_of === null ? [] : [build.restart_of]),
    ],
    stores: await listRuntimeStores(app, { query: app.store.query, runtime: task.runtime, plan: stored?.plan ?? null }),
    ...(isPolled && { protocol: 'v1' as const }),
  })
  return { objects, disk }
}

/** The objects of a warm pair: as an attempt like that of the build that it was made after, which waits for whose it will be. */
export function renderPair(app: App, task: TaskRow, pair: WarmPairRow): Rendered & { readonly bootstrap: string } {
  const { spec } = readStartPayload(task)
  const now = app.clock.now()
  const waitMs = (spec.warmPool?.maxAgeSeconds ?? 0) * 1000
  const bootstrap = `${pair.bootstrap_id}.${bootstrapSecret(app, pair.id, PAIR_ATTEMPT)}`
  const { objects, disk } = renderAttempt({
    buildId: pair.id,
    attempt: PAIR_ATTEMPT,
    // The build begins its own time when it takes the pair.
    runtime: { name: task.runtime, spec: { ...spec, limits: { ...spec.limits, electedMs: spec.limits.electedMs + waitMs } } },
    account: app.accountName,
    pipelineId: pair.pipeline_id ?? undefined,
    projectId: pair.project_id ?? undefined,
    trigger: pair.trigger_name ?? undefined,
    branch: pair.branch ?? undefined,
    serverUrl: app.advertisedUrl(),
    serverCa: app.serverCa,
    bootstrap,
    certificates: issueCertificates({ now, validMs: spec.limits.buildMs + waitMs + CERTIFICATE_SLACK_MS }),
    now,
    isWarm: true,
  })
  return { objects, disk, bootstrap }
}

/** The daemon has its certificate already, and needs to know who may sign those of engines. */
async function lastingCertificates(app: App): Promise<DockerCertificates> {
  return { ca: await authorityCertificate(app), serverCert: '', serverKey: '', clientCert: '', clientKey: '' }
}

/** Names of the objects that a start task is about. */
export function namesOf(app: App, task: TaskRow): AttemptNames {
  const { spec } = readStartPayload(task)
  return attemptNames({
    buildId: task.build_id,
    attempt: task.attempt,
    runtime: { name: task.runtime, spec },
    now: app.clock.now(),
  })
}

/** The daemon outlives the longest build by what its start and its end may take. */
export const CERTIFICATE_SLACK_MS = 86_400_000
