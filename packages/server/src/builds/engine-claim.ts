/** An engine exchanges its bootstrap credential for what it is to run. */
import { fault, sha256 } from '@windlass/kit'
import { resume } from '@windlass/plan'
import { PROTOCOL_VERSION, type EngineClaim, type EngineClaimed } from '@windlass/protocol'
import { readAccountSettings } from '../account/settings.ts'
import type { App } from '../app.ts'
import { engineCertificate } from '../certificates/certificates.ts'
import { readIntegrations } from '../contexts/integrations.ts'
import { markApprovalsSeen } from '../store/approvals.ts'
import { readDebugSettings } from '../debug/debug.ts'
import { readKnownImages } from '../images/images.ts'
import { readPipelineSettings } from '../pipelines/settings.ts'
import { buildToken } from '../identity/build-token.ts'
import { findBuildPlan } from '../store/builds.ts'
import { findPipeline } from '../store/pipelines.ts'
import type { AttemptRow, BuildRow, TaskRow } from '../store/schema.ts'
import { findStartTask } from '../store/tasks.ts'
import { openSecrets } from './build-secrets.ts'
import { editBuild, moveAttempt, moveBuild, saveBuild } from './edit.ts'
import { readLimits } from './limits.ts'
import { readRequest } from './request.ts'
import { readPlan, readSnapshot } from './snapshot.ts'
import { present } from './view.ts'
import { readStartPayload } from '../tasks/payload.ts'
import { CERTIFICATE_SLACK_MS } from '../tasks/render.ts'

export interface AttemptKey {
  readonly buildId: string
  readonly attempt: number
}

/**
 * The first exchange starts the attempt; repeating it with the same `claimKey` (a lost answer) gives the same answer. Throws `claim-used`
 * for another key, `attempt-stale` when the attempt is over or the build is being stopped, `protocol-unsupported`.
 */
export async function claimAttempt(app: App, key: AttemptKey, claim: EngineClaim): Promise<EngineClaimed> {
  requireProtocol(claim.protocol)
  const secret = app.vault.derive(`attempt/${key.buildId}/${key.attempt}/${claim.claimKey}`)
  const { build, attempt } = await app.store.write(async (tx) => {
    const edit = await editBuild(tx, key.buildId, app.clock.now())
    if (edit?.attempt === undefined || edit.attempt.number !== key.attempt) throw fault('attempt-stale')
    const { attempt: row } = edit
    if (row.status === 'lost' || row.status === 'ended') throw fault('attempt-stale')
    if (row.claim_key === claim.claimKey) return { build: edit.build, attempt: row }
    if (row.claim_key !== null) throw fault('claim-used')
    if (!moveAttempt(edit, 'claim') || !moveBuild(edit, 'begin')) throw fault('attempt-stale')
    await markApprovalsSeen(tx, key.buildId)
    row.claim_key = claim.claimKey
    row.token_hash = sha256(secret)
    row.started_at = edit.now
    row.seen_at = edit.now
    row.waiting_reason = null
    row.waiting_message = null
    row.waiting_since = null
    await saveBuild(edit)
    return { build: edit.build, attempt: row }
  })
  return describeAttempt(app, { build, attempt }, `${attempt.token_id}.${secret}`)
}

/** Throws `protocol-unsupported` unless the version is this server's or a neighbour of it. */
export function requireProtocol(version: number): void {
  if (Math.abs(version - PROTOCOL_VERSION) > 1) {
    throw fault('protocol-unsupported', {
      message: `The other side speaks protocol ${version}, this server ${PROTOCOL_VERSION}.`,
    })
  }
}

async function describeAttempt(app: App, of: { build: BuildRow; attempt: AttemptRow }, token: string): Promise<EngineClaimed> {
  const { build, attempt } = of
  const { query } = app.store
  const stored = await findBuildPlan(query, build.id)
  const plan = stored === undefined ? undefined : readPlan(stored)
  if (stored === undefined || plan === undefined)
    throw fault('internal', { message: `The plan of build ${build.id} is missing.` })
  const request = readRequest(stored)
  const limits = readLimits(attempt)
  const start = await findStartTask(query, build.id, attempt.number)
  const debug = await readDebugSettings(query, build.id)
  const volumeName = build.volume ?? `windlass-${build.id}`
  return {
    buildId: build.id,
    attempt: attempt.number,
    token,
    plan,
    snapshot: resume(plan, await readSnapshot(app, query, { build, plan, open: true }), {
      cause: attempt.cause ?? 'infra',
      volumeKept: true,
    }),
    secrets: openSecrets(app.vault, build, stored.secrets),
    buildToken: buildToken(app.vault, build.id),
    ...(await readIntegrations(app, await injectedClusters(app, build))),
    limits: {
      stepLogBytes: limits.stepLogBytes,
      buildLogBytes: limits.buildLogBytes,
      stopGraceMs: limits.stopGraceMs,
      heartbeatMs: app.timings.heartbeatMs,
    },
    ...present({ userMounts: start && userMounts(start) }),
    userAccess: start === undefined ? true : readStartPayload(start).spec.dockerDaemonScheduler.userAccess,
    resetVolume: request.resetVolume,
    noCache: request.noCache,
    noCfCache: request.noCfCache,
    ...present({ only: request.only, skip: request.skip }),
    ...(attempt.cause !== null && { resume: { cause: attempt.cause } }),
    ...(await autoPushOf(app)),
    knownImages: await readKnownImages(query, build.pipeline_id),
    ...present({ trustedQemuImages: start && trustedQemuImages(start) }),
    ...(attempt.protocol === 1 && { docker: await engineCertificate(app, limits.buildMs + CERTIFICATE_SLACK_MS) }),
    ...(debug !== undefined && { debug }),
    volumeName,
    keepVolume: volumeName !== `windlass-${build.id}`,
  }
}

/** What the pod of the daemon mounts for all steps. */
function userMounts(start: TaskRow): EngineClaimed['userMounts'] {
  const { userVolumeMounts } = readStartPayload(start).spec.dockerDaemonScheduler
  const mounts = Object.values(userVolumeMounts).map(({ mountPath, readOnly = false }) => ({ path: mountPath, readOnly }))
  return mounts.length === 0 ? undefined : mounts
}

/** The setting of the runtime: names with commas between, any image when it is not set. */
function trustedQemuImages(start: TaskRow): string[] | undefined {
  const { TRUSTED_QEMU_IMAGES: text } = readStartPayload(start).spec.runtimeScheduler.envVars
  return text
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** The clusters that steps find, as the pipeline wants it (`clustersInfo`); all when undefined. */
async function injectedClusters(app: App, build: BuildRow): Promise<readonly string[] | undefined> {
  if (build.pipeline_id === null) return undefined
  return readPipelineSettings(await findPipeline(app.store.query, build.account_id, build.pipeline_id)).clusters
}

/** What a build step does that says nothing of pushing; absent leaves it to the step (pipeline language 1.6). */
async function autoPushOf(app: App): Promise<Pick<EngineClaimed, 'autoPush'>> {
  const { autoPush } = await readAccountSettings(app.store.query, app.accountId)
  return autoPush === 'explicit' ? {} : { autoPush: autoPush === 'always' }
}
