/** A BuildRequest becomes a build: one transaction writes it, its frozen plan and its first event. */
import { newId } from '@windlass/kit'
import { isFinalBuild, REASONS } from '@windlass/plan'
import type { BuildInput } from '@windlass/protocol'
import type { z } from 'zod'
import { annotate } from '../annotations/annotations.ts'
import type { App } from '../app.ts'
import { takeBuildNumber } from '../store/accounts.ts'
import { insertBuild } from '../store/builds.ts'
import type { BuildPlanRow, BuildRow, Flag } from '../store/schema.ts'
import type { Tx } from '../store/store.ts'
import { insertEvents } from '../store/events.ts'
import { sealExports, sealSecrets } from './build-secrets.ts'
import { ELECT_TOPIC, openEdit, record, type BuildEdit, type Cause } from './edit.ts'
import { finishBuild } from './lose.ts'
import { supersede } from './policies.ts'
import { prepareBuild, type Prepared } from './prepare.ts'
import { repeatBuild } from './repeat.ts'
import { BuildRequest } from './request.ts'

export interface Creation {
  readonly request: z.output<typeof BuildInput>
  /** Who asked, as shown. */
  readonly initiator: string
  readonly trigger: string
  /** Runs in the same transaction; what it throws undoes the build. */
  readonly within?: ((tx: Tx, build: BuildRow) => Promise<void>) | undefined
}

/**
 * Creates a build. A document with errors still gives a build, which has ended in error with its problems. Throws `not-found` for an
 * unknown pipeline or build to repeat, `runtime-unknown`, `storage-full`.
 */
export async function createBuild(app: App, creation: Creation): Promise<BuildRow> {
  const id = newId(app.clock.now())
  const prepare = creation.request.restartOf === undefined ? prepareBuild : repeatBuild
  const prepared = await prepare(app, { id, ...creation })
  return app.store.write(async (tx) => {
    const build = newBuild(app, { id, prepared, creation, number: await takeBuildNumber(tx, app.accountId) })
    const edit = openEdit(tx, build, undefined, build.created_at)
    record(edit, {
      type: 'build.created',
      data: { number: build.number, pipeline: build.pipeline, initiator: build.initiator, trigger: build.trigger },
    })
    if (prepared.stepTypes.length > 0)
      record(edit, {
        type: 'build.resolved',
        data: { stepTypes: prepared.stepTypes.map(({ name, version }) => ({ name, version })) },
      })
    for (const { type, at, data } of prepared.carried ?? [])
      record(edit, { type, at, data: sealExports(app.vault, build, { ...data }) })
    const obstacle = invalidity(prepared)
    if (obstacle !== undefined) finishBuild(edit, 'end-error', obstacle)
    await insertBuild(tx, build, toPlanRow(app, build, prepared, creation))
    await insertEvents(tx, edit.events)
    await annotateNew(edit, creation.request)
    if (obstacle === undefined) await supersede(edit, prepared.settings.terminationPolicy)
    await creation.within?.(tx, build)
    if (!isFinalBuild(build.status)) tx.wake(ELECT_TOPIC)
    return build
  })
}

async function annotateNew({ tx, build, now }: BuildEdit, { annotations = {} }: Creation['request']): Promise<void> {
  const on = { account_id: build.account_id, entity: 'build', entity_id: build.id, kind: 'annotation' } as const
  await annotate(tx, on, { set: annotations, now })
}

function invalidity({ plan, problems, missing }: Prepared): Cause | undefined {
  if (missing !== undefined) return { reason: 'integration-missing', message: missing }
  if (plan !== undefined) return undefined
  const [first, ...more] = problems.filter(({ severity }) => severity === 'error')
  if (first === undefined) return { reason: 'invalid-pipeline', message: REASONS['invalid-pipeline'].text }
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`
  return {
    reason: 'invalid-pipeline',
    message: `${first.file}:${first.line}:${first.column} ${first.message}${others}`,
    hint: first.hint,
  }
}

function newBuild(app: App, of: { id: string; prepared: Prepared; creation: Creation; number: number }): BuildRow {
  const { prepared, creation } = of
  const now = app.clock.now()
  const {
    account,
    settings: { options },
  } = prepared
  return {
    id: of.id,
    account_id: app.accountId,
    project_id: prepared.project?.id ?? null,
    project: prepared.project?.name ?? null,
    pipeline_id: prepared.pipeline?.id ?? null,
    pipeline: prepared.pipeline?.name ?? prepared.name ?? null,
    number: of.number,
    status: 'pending',
    reason: 'queued',
    message: REASONS.queued.text,
    hint: null,
    branch: prepared.branch ?? null,
    revision: prepared.revision ?? null,
    runtime: prepared.runtime ?? null,
    priority: prepared.pipeline?.priority ?? 0,
    initiator: creation.initiator,
    trigger: creation.trigger,
    trigger_name: creation.request.trigger ?? prepared.fills.trigger ?? null,
    restart_of: creation.request.restartOf ?? null,
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
  }
}

function toFlag(value: boolean): Flag {
  return value ? 1 : 0
}

function toPlanRow(app: App, build: BuildRow, prepared: Prepared, { request }: Creation): BuildPlanRow {
  return {
    build_id: build.id,
    account_id: build.account_id,
    document: prepared.document,
    request: JSON.stringify(BuildRequest.parse({ ...request, ...prepared.fills })),
    plan: prepared.plan === undefined ? null : JSON.stringify(prepared.plan),
    problems: prepared.problems.length === 0 ? null : JSON.stringify(prepared.problems.map(toProblem)),
    secrets: sealSecrets(app.vault, build, prepared.secrets),
    step_types: prepared.stepTypes.length === 0 ? null : JSON.stringify(prepared.stepTypes),
    fetched: prepared.fetched ?? null,
  }
}

/** A problem of a document as it is kept with its build. */
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
