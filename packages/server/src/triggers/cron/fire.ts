/**
 * Builds of cron triggers. The transaction that inserts the build also moves the trigger to its next time, if it is still at the time of the build. Of several
 * servers one succeeds. Times that passed while no server ran are one build.
 */
import { splitRepo } from '@windlass/forges'
import { attempt, defined, isFault, ticks } from '@windlass/kit'
import { nextTick } from '@windlass/plan/schedule'
import { BuildInput, CronTrigger, GitTrigger } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { createBuild } from '../../builds/create/create.ts'
import { requireSpace } from '../../builds/schedule/disk-space.ts'
import { isTransient } from '../../store/database/transient.ts'
import type { CronTriggerRow } from '../../store/schema/schema.ts'
import { advanceCronTrigger, listDueCronTriggers } from '../../store/triggers/cron-triggers.ts'
import { findTriggerOf } from '../../store/triggers/triggers.ts'
import { toMachine, toOverrides } from '../build-input.ts'

const PAGE = 100

/** Starts the builds that are due, every `sweepMs`, until the server closes. */
export async function cronLoop(app: App): Promise<void> {
  for await (const _ of ticks(app.timings.sweepMs, { clock: app.clock, signal: app.closing, jitter: 0.2 }))
    await attempt(app.log, 'cron', () => fireDue(app))
}

/** Starts the build of every trigger that is due. A trigger that fails does not hold up the others. */
export async function fireDue(app: App): Promise<void> {
  const due = await listDueCronTriggers(app.store.query, app.clock.now(), PAGE)
  for (const row of due) await attempt(app.log, 'cron trigger', () => fire(app, row))
}

/** Another server has started the build of this time. */
class AlreadyFired extends Error {}

async function fire(app: App, row: CronTriggerRow): Promise<void> {
  const { id, next_at: tick } = row
  if (tick === null) return
  const spec = CronTrigger.parse(JSON.parse(row.spec))
  const now = app.clock.now()
  const next = { next_at: nextTick(spec, Math.max(now, tick)) ?? null }
  try {
    await requireSpace(app)
    await createBuild(app, {
      request: await toRequest(app, row, spec),
      initiator: 'cron',
      trigger: { kind: 'cron', name: spec.name },
      overrides: { ...toOverrides(spec), variables: variablesOf(spec, tick) },
      within: async (tx) => {
        if (!(await advanceCronTrigger(tx, { id, tick }, { ...next, fired_at: now, problem: null }))) throw new AlreadyFired()
      },
    })
  } catch (error) {
    if (error instanceof AlreadyFired) return
    if (!isFault(error) || isTransient(error) || error.code === 'internal') throw error
    const problem = [error.message, error.hint].join(' ').trim()
    await app.store.write((tx) => advanceCronTrigger(tx, { id, tick }, { ...next, problem }))
  }
}

/** The variables of the trigger override those of the event. */
function variablesOf({ message, variables }: CronTrigger, tick: number): Record<string, string> {
  const own = Object.fromEntries(variables.map(({ key, value }) => [key, value]))
  return { EVENT_MESSAGE: message, EVENT_TIMESTAMP: new Date(tick).toISOString(), ...own }
}

async function toRequest(app: App, row: CronTriggerRow, spec: CronTrigger): Promise<z.output<typeof BuildInput>> {
  const git = spec.gitTrigger === undefined ? undefined : await readRepository(app, row, spec.gitTrigger)
  return BuildInput.parse({
    pipeline: row.pipeline_id,
    contexts: spec.contexts,
    ...toMachine(spec),
    ...defined({ branch: spec.branch, git }),
  })
}

/** Returns the repository of a Git trigger of the pipeline; undefined if the trigger was deleted. */
async function readRepository(app: App, { pipeline_id: pipeline }: CronTriggerRow, name: string): Promise<object | undefined> {
  const row = await findTriggerOf(app.store.query, app.accountId, { pipeline, name })
  const of = row && splitRepo(GitTrigger.parse(JSON.parse(row.spec)).repo)
  return of && { repoOwner: of.repoOwner, repoName: of.repoName }
}
