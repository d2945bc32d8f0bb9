/** Creation of builds. One transaction writes the build, its frozen plan and its first event. */
import { newId } from '@windlass/kit'
import { isFinalBuild, REASONS, type Trigger } from '@windlass/plan'
import type { BuildInput } from '@windlass/protocol'
import type { z } from 'zod'
import { annotate } from '../../annotations/annotations.ts'
import type { App } from '../../app.ts'
import { noteSubject } from '../../audit/call.ts'
import { queueNotice } from '../../notifications/queue.ts'
import { PREDECESSOR } from '../../identity/step-rights.ts'
import type { RuntimeAccess } from '../../runtimes/access.ts'
import { takeBuildNumber } from '../../store/account/accounts.ts'
import { changedTopic, findBuild, insertBuild, triggerOf } from '../../store/builds/builds.ts'
import type { BuildPlanRow, BuildRow, Flag } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { insertEvents } from '../../store/builds/events.ts'
import { reportBuild } from '../../statuses/report.ts'
import { sealValues, sealSecrets } from './build-secrets.ts'
import { ELECT_TOPIC, openEdit, record, type BuildEdit, type Cause } from '../lifecycle/edit.ts'
import { finishBuild } from '../lifecycle/ends/end-attempt.ts'
import { holdStart, repeatsHeldStart } from '../lifecycle/start-approval.ts'
import { supersede } from '../lifecycle/policies.ts'
import { reportEnd } from '../../triggers/events/report-end.ts'
import { prepareBuild, type Prepared, type TriggerOverrides } from './prepare.ts'
import { repeatBuild } from './repeat.ts'
import { BuildRequest } from './request.ts'
import { nameOf } from '../lifecycle/view.ts'
import { summarizeErrors } from './summarize-errors.ts'

/** A request with what the rights of the caller add to it. */
export type AuthorizedInput = z.output<typeof BuildInput> & Pick<BuildRequest, 'keepsRepository'>

export type Parent = Pick<BuildRow, 'id' | 'depth'>

export interface Creation {
  readonly request: AuthorizedInput
  /** Display name of the caller. */
  readonly initiator: string
  readonly trigger: Trigger
  /** Set if a trigger of the pipeline starts the build. */
  readonly overrides?: TriggerOverrides | undefined
  /** The build that started this one. Default: the one that the request names. */
  readonly parent?: Parent | undefined
  /** Which runtimes the caller may use. Default: all, for triggers and schedules, whose pipeline was checked when it was stored. */
  readonly access?: RuntimeAccess | undefined
  /** True if the build must be approved before it starts. */
  readonly needsApproval?: true | undefined
  /** Runs in the same transaction. If it throws, the build is rolled back. */
  readonly within?: ((tx: Tx, build: BuildRow) => Promise<void>) | undefined
}

/**
 * Creates a build. A document with errors also creates a build, which ends at once with status `error` and lists the problems. Throws `not-found`
 * for an unknown pipeline or build to repeat, `runtime-unknown`, `runtime-denied`, `storage-full`, and `conflict` if too many builds wait for approval.
 */
export async function createBuild(app: App, creation: Creation): Promise<BuildRow> {
  const id = newId(app.clock.now())
  const prepare = creation.request.restartOf === undefined ? prepareBuild : repeatBuild
  const prepared = await prepare(app, { id, ...creation })
  const parent = creation.parent ?? (await findParent(app, creation.request))
  const isHeld = creation.needsApproval === true || (await repeatsHeldStart(app, creation.request))
  return app.store.write(async (tx) => {
    const build = newBuild(app, { id, prepared, creation, parent, number: await takeBuildNumber(tx, app.accountId) })
    const edit = openEdit(tx, build, undefined, build.created_at)
    noteSubject(describeNew(build, creation.request))
    record(edit, {
      type: 'build.created',
      data: { number: build.number, pipeline: build.pipeline, initiator: build.initiator, trigger: triggerOf(build) },
    })
    if (prepared.stepTypes.length > 0)
      record(edit, {
        type: 'build.resolved',
        data: { stepTypes: prepared.stepTypes.map(({ name, version }) => ({ name, version })) },
      })
    for (const { type, at, data } of prepared.carried ?? [])
      record(edit, { type, at, data: await sealValues(app.vault, tx, build, { ...data }) })
    const failure = invalidCause(prepared)
    if (failure !== undefined) finishBuild(edit, 'end-error', failure)
    else if (isHeld) await holdStart(edit, { git: prepared.fills.git ?? creation.request.git })
    const secrets = await sealSecrets(app.vault, tx, { build, secrets: prepared.secrets })
    await insertBuild(tx, build, toPlanRow(build, { prepared, creation, secrets }))
    await insertEvents(tx, edit.events)
    await reportEnd(edit)
    if (isFinalBuild(build.status)) await queueNotice(tx, build, { now: edit.now })
    await annotateNew(edit, creation.request)
    // A stranger names the branch of a fork, and must not end builds of a branch with this name.
    if (failure === undefined && !isHeld) await supersede(edit, prepared.settings.terminationPolicy)
    if (prepared.commitTarget !== undefined)
      await reportBuild(tx, { build, target: prepared.commitTarget, now: build.created_at })
    await creation.within?.(tx, build)
    if (!isFinalBuild(build.status)) tx.wake(ELECT_TOPIC)
    tx.wake(changedTopic(build.id))
    return build
  })
}

/** Returns the build as the audit log names it, such as `build #7 of demo/app on main`. */
function describeNew(build: BuildRow, { restartOf }: Creation['request']): string {
  const { branch } = build
  return `${nameOf(build)}${branch === null ? '' : ` on ${branch}`}${restartOf === undefined ? '' : `, repeats ${restartOf}`}`
}

async function annotateNew({ tx, build, now }: BuildEdit, { annotations = {} }: Creation['request']): Promise<void> {
  const on = { account_id: build.account_id, entity: 'build', entity_id: build.id, kind: 'annotation' } as const
  await annotate(tx, on, { set: annotations, now })
}

function invalidCause({ plan, problems, missing }: Prepared): Cause | undefined {
  if (missing !== undefined) return { reason: 'integration-missing', message: missing }
  if (plan !== undefined) return undefined
  return { reason: 'invalid-pipeline', ...(summarizeErrors(problems) ?? { message: REASONS['invalid-pipeline'].text }) }
}

/** Returns the build that the request names as its parent. `authorizeBuild` has checked that the caller may name it. */
async function findParent(app: App, { annotations }: Creation['request']): Promise<Parent | undefined> {
  const parent = annotations?.[PREDECESSOR]
  return typeof parent === 'string' ? findBuild(app.store.query, app.accountId, parent) : undefined
}

interface NewBuild {
  readonly id: string
  readonly prepared: Prepared
  readonly creation: Creation
  readonly number: number
  readonly parent: Parent | undefined
}

function newBuild(app: App, of: NewBuild): BuildRow {
  const { prepared, creation } = of
  const now = app.clock.now()
  const {
    account,
    settings: { options },
  } = prepared
  const git = prepared.fills.git ?? creation.request.git
  return {
    id: of.id,
    account_id: app.accountId,
    project_id: prepared.project?.id ?? null,
    project: prepared.project?.name ?? null,
    pipeline_id: prepared.pipeline?.id ?? null,
    pipeline: prepared.pipeline?.name ?? prepared.name ?? null,
    pipeline_version: prepared.pipeline?.revision ?? null,
    document_file: documentFileOf(prepared, creation.request.file),
    number: of.number,
    status: 'pending',
    reason: 'queued',
    message: REASONS.queued.text,
    hint: null,
    branch: prepared.branch ?? null,
    revision: prepared.revision ?? null,
    commit_message: firstLine(git?.commitMessage),
    commit_author: firstLine(git?.commitAuthor),
    runtime: prepared.runtime ?? null,
    priority: creation.overrides?.priority ?? prepared.pipeline?.priority ?? 0,
    initiator: creation.initiator,
    trigger: creation.trigger.kind,
    trigger_name: creation.trigger.name ?? prepared.fills.trigger ?? prepared.triggerName ?? null,
    restart_of: creation.request.restartOf ?? null,
    parent_id: of.parent?.id ?? null,
    depth: of.parent?.depth ?? 0,
    attempt: 0,
    retries: 0,
    losses: 0,
    held: 0,
    approval_counts: toFlag(options.pendingApprovalConcurrencyApplied ?? account.pendingApprovalConcurrencyApplied),
    keeps_volume: toFlag(options.keepPVCsForPendingApproval ?? account.keepPVCsForPendingApproval),
    feed_position: 0,
    volume: null,
    cancel_reason: null,
    paused_ms: 0,
    paused_at: null,
    created_at: now,
    queued_at: now,
    elected_at: null,
    started_at: null,
    terminating_at: null,
    finished_at: null,
    logs_expired_at: null,
    compact_at: null,
    small_objects: 0,
    compacted_to: 0,
    followed_at: null,
    waits_since: now,
    end_reported: null,
  }
}

/** Returns the name of the file of the document of a build without a pipeline, for lists. */
function documentFileOf({ pipeline, name, fills }: Prepared, file = fills.file): string | null {
  // Marks of direction could make it look like another name.
  const shown = file?.replaceAll(/[\p{Cf}\u2028\u2029]/gu, '').split(/[/\\]/)
  return pipeline === undefined && name === undefined ? firstLine(shown?.at(-1)) : null
}

const MAX_COMMIT_TEXT = 200

/** Returns the first line for lists, without control characters; null without one. */
function firstLine(text = ''): string | null {
  const [line = ''] = text.trimStart().split('\n', 1)
  const shown = line
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, MAX_COMMIT_TEXT)
  return shown === '' ? null : shown
}

function toFlag(value: boolean): Flag {
  return value ? 1 : 0
}

interface PlanParts {
  readonly prepared: Prepared
  readonly creation: Creation
  /** Sealed secret variables. */
  readonly secrets: string | null
}

function toPlanRow(build: BuildRow, { prepared, creation: { request }, secrets }: PlanParts): BuildPlanRow {
  return {
    build_id: build.id,
    account_id: build.account_id,
    document: prepared.document,
    request: JSON.stringify(BuildRequest.parse({ ...request, ...prepared.fills })),
    plan: prepared.plan === undefined ? null : JSON.stringify(prepared.plan),
    problems: prepared.problems.length === 0 ? null : JSON.stringify(prepared.problems.map(toProblem)),
    secrets,
    step_types: prepared.stepTypes.length === 0 ? null : JSON.stringify(prepared.stepTypes),
    fetched: prepared.fetched ?? null,
    delivery_id: prepared.deliveryId ?? null,
    commit_target: prepared.commitTarget === undefined ? null : JSON.stringify(prepared.commitTarget),
  }
}

/** Converts a problem of a document to its stored form. */
export function toProblem({
  line,
  column,
  severity,
  code,
  message,
  hint,
}: Prepared['problems'][number]): Record<string, unknown> {
  return { line, column, severity, code, message, ...(hint !== '' && { hint }) }
}
