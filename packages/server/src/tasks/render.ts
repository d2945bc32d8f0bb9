/** Rendering of the objects of an attempt, from rows, each time its task is handed out. */
import { attemptNames, issueCertificates, renderAttempt, type AttemptNames, type DockerCertificates } from '@windlass/manifests'
import type { Task } from '@windlass/protocol'
import type { App } from '../app.ts'
import { readLimits } from '../builds/schedule/limits.ts'
import { readRequest } from '../builds/create/request.ts'
import { authorityCertificate } from '../certificates/certificates.ts'
import { listRuntimeStores } from '../contexts/runtime-stores.ts'
import { findBuild, findBuildPlan } from '../store/builds/builds.ts'
import type { TaskRecord } from '../store/runtimes/tasks.ts'
import { listPairsOf } from '../store/runtimes/warm-pairs.ts'
import type { AttemptRow, WarmPairRow } from '../store/schema/schema.ts'
import { triggerLabel } from '../warm/fit.ts'
import { PAIR_ATTEMPT } from '../warm/pairs.ts'
import { engineUrlOf } from './engine-url.ts'
import { readStartPayload } from './payload.ts'
import { bootstrapSecret } from '../identity/sessions/bootstrap-secret.ts'

export type Rendered = Pick<Extract<Task, { kind: 'start-attempt' }>, 'objects' | 'disk'>

/** Returns the bootstrap credential of an attempt, which its engine can exchange once. */
export function bootstrapOf(app: App, attempt: AttemptRow): string {
  return `${attempt.bootstrap_id}.${bootstrapSecret(app, attempt.key_id, { buildId: attempt.build_id, attempt: attempt.number })}`
}

/** Renders the objects of a start task in the form of the attempt's protocol. Returns none for runtimes without objects. */
export async function renderTask(app: App, task: TaskRecord, attempt: AttemptRow): Promise<Rendered> {
  const { type, spec } = readStartPayload(task)
  const build = await findBuild(app.store.query, task.account_id, attempt.build_id)
  const isProtocolV1 = attempt.protocol === 1
  if ((type !== 'kubernetes' && !isProtocolV1) || build === undefined) return { objects: [] }
  const stored = await findBuildPlan(app.store.query, attempt.build_id)
  const now = app.clock.now()
  const { objects, disk } = renderAttempt({
    buildId: build.id,
    attempt: attempt.number,
    runtime: { name: task.runtime, spec },
    account: app.accountName,
    pipelineId: build.pipeline_id ?? undefined,
    projectId: build.project_id ?? undefined,
    trigger: triggerLabel(build),
    branch: build.branch ?? undefined,
    serverUrl: await engineUrlOf(app, app.store.query, task),
    serverCa: app.serverCa,
    bootstrap: bootstrapOf(app, attempt),
    certificates: isProtocolV1
      ? await lastingCertificates(app)
      : issueCertificates({ now, validMs: readLimits(attempt).buildMs + CERTIFICATE_SLACK_MS }),
    now,
    // Only the first attempt resets the volume. Later attempts continue with its content.
    resetVolume: stored !== undefined && attempt.number === 1 && readRequest(stored).resetVolume,
    builds: [
      build.id,
      ...(await listPairsOf(app.store.query, build.id)),
      ...(build.restart_of === null ? [] : [build.restart_of]),
    ],
    stores: await listRuntimeStores(app, { query: app.store.query, runtime: task.runtime, plan: stored?.plan ?? null }),
    ...(isProtocolV1 && { protocol: 'v1' as const }),
  })
  return { objects, disk }
}

/** Renders the objects of a warm pair, with the labels of the build that it was modeled on. */
export async function renderPair(
  app: App,
  task: TaskRecord,
  pair: WarmPairRow,
): Promise<Rendered & { readonly bootstrap: string }> {
  const { spec } = readStartPayload(task)
  const now = app.clock.now()
  const waitMs = (spec.warmPool?.maxAgeSeconds ?? 0) * 1000
  const bootstrap = `${pair.bootstrap_id}.${bootstrapSecret(app, pair.key_id, { buildId: pair.id, attempt: PAIR_ATTEMPT })}`
  const { objects, disk } = renderAttempt({
    buildId: pair.id,
    attempt: PAIR_ATTEMPT,
    // The timeouts of a build start when it takes the pair.
    runtime: { name: task.runtime, spec: { ...spec, limits: { ...spec.limits, electedMs: spec.limits.electedMs + waitMs } } },
    account: app.accountName,
    pipelineId: pair.pipeline_id ?? undefined,
    projectId: pair.project_id ?? undefined,
    trigger: pair.trigger_name ?? undefined,
    branch: pair.branch ?? undefined,
    serverUrl: await engineUrlOf(app, app.store.query, task),
    serverCa: app.serverCa,
    bootstrap,
    certificates: issueCertificates({ now, validMs: spec.limits.buildMs + waitMs + CERTIFICATE_SLACK_MS }),
    now,
    isWarm: true,
  })
  return { objects, disk, bootstrap }
}

/** Returns certificates for a daemon that already has its own and only needs the CA of the engine certificates. */
async function lastingCertificates(app: App): Promise<DockerCertificates> {
  return { ca: await authorityCertificate(app), serverCert: '', serverKey: '', clientCert: '', clientKey: '' }
}

/** Returns the names of the objects of a start task, or those of the warm pair that its attempt runs in. */
export function namesOf(app: App, task: TaskRecord, pairId: string | null = null): AttemptNames {
  const { spec } = readStartPayload(task)
  return attemptNames({
    buildId: pairId ?? task.subject.id,
    attempt: pairId === null ? task.subject.attempt : PAIR_ATTEMPT,
    runtime: { name: task.runtime, spec },
    now: app.clock.now(),
  })
}

/** Validity of certificates beyond the longest build, for its start and end. Milliseconds. */
export const CERTIFICATE_SLACK_MS = 86_400_000
