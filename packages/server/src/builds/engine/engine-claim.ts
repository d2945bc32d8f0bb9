/** The exchange of an engine's bootstrap credential for its attempt: plan, snapshot, secrets and token. */
import { defined, fault, sha256, splitList } from '@windlass/kit'
import { resume } from '@windlass/plan'
import { PROTOCOL_VERSION, type EngineClaim, type EngineClaimed, type RuntimeSpec } from '@windlass/protocol'
import { readAccountSettings } from '../../account/settings.ts'
import type { App } from '../../app.ts'
import { engineCertificate } from '../../certificates/certificates.ts'
import { readIntegrations } from '../../contexts/integrations.ts'
import { isLiveAttempt, type AttemptKey } from '../../store/builds/attempts.ts'
import { markApprovalsSeen } from '../../store/builds/approvals.ts'
import { readDebugSettings } from '../../debug/debug.ts'
import { readKnownImages } from '../../images/images.ts'
import { readPipelineSettings } from '../../pipelines/settings.ts'
import { buildToken } from '../../identity/keys/build-token.ts'
import { findBuildPlan } from '../../store/builds/builds.ts'
import { findPipeline } from '../../store/pipelines/pipelines.ts'
import type { AttemptRow, BuildRow } from '../../store/schema/schema.ts'
import { findDeliveryBody } from '../../store/triggers/deliveries.ts'
import { findStartTask } from '../../store/runtimes/tasks.ts'
import { openSecrets } from '../create/build-secrets.ts'
import { editBuild, moveAttempt, moveBuild, saveBuild } from '../lifecycle/edit.ts'
import { readLimits } from '../schedule/limits.ts'
import { readRequest } from '../create/request.ts'
import { readPlan, readSnapshot } from '../create/snapshot.ts'
import { present } from '../lifecycle/view.ts'
import { readStartPayload } from '../../tasks/payload.ts'
import { CERTIFICATE_SLACK_MS } from '../../tasks/render.ts'

/**
 * Claims an attempt for an engine. The first claim starts the attempt. Repeating it with the same `claimKey` after a lost response returns the same
 * response. Throws `claim-used` for another key, `attempt-stale` if the attempt is over or the build is terminating, `protocol-unsupported`.
 */
export async function claimAttempt(app: App, key: AttemptKey, claim: EngineClaim): Promise<EngineClaimed> {
  requireProtocol(claim.protocol)
  const { build, attempt, secret } = await app.store.write(async (tx) => {
    const edit = await editBuild(tx, key.buildId, app.clock.now())
    if (edit?.attempt === undefined || edit.attempt.number !== key.attempt) throw fault('attempt-stale')
    const { attempt: row } = edit
    if (!isLiveAttempt(row.status)) throw fault('attempt-stale')
    const secret = app.vault.derive(row.key_id, `attempt/${key.buildId}/${key.attempt}/${claim.claimKey}`)
    if (row.claim_key === claim.claimKey) return { build: edit.build, attempt: row, secret }
    if (row.claim_key !== null) throw fault('claim-used')
    if (!moveAttempt(edit, 'claim') || !moveBuild(edit, 'begin')) throw fault('attempt-stale')
    await markApprovalsSeen(tx, key.buildId)
    row.claim_key = claim.claimKey
    row.token_hash = sha256(secret)
    row.started_at = edit.now
    const { created_at: created, engine_since: ran } = row
    tx.measure(({ starts }) => starts.observe({ phase: 'pods' }, Math.max(0, (ran ?? edit.now) - created) / 1000))
    row.seen_at = edit.now
    row.waiting_reason = null
    row.waiting_message = null
    row.waiting_since = null
    await saveBuild(edit)
    return { build: edit.build, attempt: row, secret }
  })
  return describeAttempt(app, { build, attempt }, `${attempt.token_id}.${secret}`)
}

/** Throws `protocol-unsupported` unless the version differs from this server's version by at most 1. */
export function requireProtocol(version: number): void {
  if (Math.abs(version - PROTOCOL_VERSION) > 1) {
    throw fault('protocol-unsupported', {
      message: `The client uses protocol version ${version}, this server uses ${PROTOCOL_VERSION}.`,
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
  const start = await findStartTask(query, { id: build.id, attempt: attempt.number })
  const spec = start && readStartPayload(start).spec
  const debug = await readDebugSettings(query, build.id, stored)
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
    buildToken: buildToken(app.vault, attempt.key_id, { buildId: build.id, attempt: attempt.number }),
    ...(await readIntegrations(app, await injectedClusters(app, build))),
    limits: {
      stepLogBytes: limits.stepLogBytes,
      buildLogBytes: limits.buildLogBytes,
      stopGraceMs: limits.stopGraceMs,
      heartbeatMs: app.timings.heartbeatMs,
    },
    ...present({ userMounts: spec && userMounts(spec) }),
    userAccess: spec === undefined ? true : spec.dockerDaemonScheduler.userAccess,
    resetVolume: request.resetVolume,
    noCache: request.noCache,
    noCfCache: request.noCfCache,
    ...present({ only: request.only, skip: request.skip, files: await eventFiles(app, stored.delivery_id) }),
    ...(attempt.cause !== null && { resume: { cause: attempt.cause } }),
    ...(await autoPushOf(app)),
    knownImages: await readKnownImages(query, build.pipeline_id),
    ...present({ trustedQemuImages: spec && trustedQemuImages(spec) }),
    ...(attempt.protocol === 1 && { docker: await engineCertificate(app, limits.buildMs + CERTIFICATE_SLACK_MS) }),
    ...defined({ debug }),
    belongsTo: {
      accountId: app.accountId,
      account: app.accountName,
      ...present({ pipelineId: build.pipeline_id, pipeline: build.pipeline }),
    },
    volumeName,
    keepVolume: volumeName !== `windlass-${build.id}`,
  }
}

/** Returns `event.json`, the body of the webhook call that started the build, unless its retention has ended. */
async function eventFiles(app: App, deliveryId: string | null): Promise<EngineClaimed['files']> {
  const delivery = deliveryId === null ? undefined : await findDeliveryBody(app.store.query, deliveryId)
  return typeof delivery?.body === 'string' ? { 'event.json': delivery.body } : undefined
}

/** Returns the mounts of the dind pod that all steps get. */
function userMounts({ dockerDaemonScheduler }: RuntimeSpec): EngineClaimed['userMounts'] {
  const { userVolumeMounts } = dockerDaemonScheduler
  const mounts = Object.values(userVolumeMounts).map(({ mountPath, readOnly = false }) => ({ path: mountPath, readOnly }))
  return mounts.length === 0 ? undefined : mounts
}

/** Returns the comma-separated setting of the runtime. If it is not set, only the default images are trusted. */
function trustedQemuImages({ runtimeScheduler }: RuntimeSpec): string[] {
  const { TRUSTED_QEMU_IMAGES: text } = runtimeScheduler.envVars
  return splitList(text ?? '')
}

/** Returns the clusters that steps get according to the pipeline (`clustersInfo`). Undefined means all. */
async function injectedClusters(app: App, build: BuildRow): Promise<readonly string[] | undefined> {
  if (build.pipeline_id === null) return undefined
  return readPipelineSettings(await findPipeline(app.store.query, build.account_id, build.pipeline_id)).clusters
}

/** Returns whether build steps without an explicit setting push their image. Absent leaves the decision to the step. */
async function autoPushOf(app: App): Promise<Pick<EngineClaimed, 'autoPush'>> {
  const { autoPush } = await readAccountSettings(app.store.query, app.accountId)
  return autoPush === 'explicit' ? {} : { autoPush: autoPush === 'always' }
}
