/** Ends of builds: which triggers wait for them, and what these build. */
import { text } from '@windlass/forges'
import { defined, parseJson } from '@windlass/kit'
import { BuildInput, EventTrigger, type TriggerVerdict } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { readAccountSettings } from '../../account/settings.ts'
import { isHeldStart } from '../../builds/lifecycle/start-approval.ts'
import { findBuild } from '../../store/builds/builds.ts'
import type { BuildRow, DeliveryRow } from '../../store/schema/schema.ts'
import { listTriggersOfSubject, type NamedEventTrigger } from '../../store/triggers/event-triggers.ts'
import { toMachine, toOverrides } from '../build-input.ts'
import { startJudged } from '../start.ts'
import { isReplayedFor, noBuild, summarize, type Outcome } from '../rules/verdicts.ts'
import { judgeBuild, type BuildTrigger } from './judge-event.ts'
import { placeOf } from '../../store/places.ts'

/** Starts the builds that wait for the end of a build. */
export async function buildAfterBuild(app: App, delivery: DeliveryRow): Promise<Outcome> {
  const { query } = app.store
  const id = text(parseJson(delivery.body ?? ''), 'build', 'id') ?? ''
  const build = await findBuild(query, app.accountId, id)
  if (build === undefined) return noBuild('no-trigger', `The build ${id} was deleted.`)
  const subjects = [build.pipeline_id, build.pipeline].flatMap((name) => name ?? [])
  const rows = await listTriggersOfSubject(query, app.accountId, { type: 'build', subjects })
  const isUnapproved = await isHeldStart(app, build.id)
  const { childBuilds } = await readAccountSettings(query, app.accountId)
  const verdicts: TriggerVerdict[] = []
  const pipelineIds: string[] = []
  for (const row of rows.filter((one) => isReplayedFor(delivery, placeOf(one)))) {
    const spec = EventTrigger.parse(JSON.parse(row.spec))
    if (spec.type !== 'build') continue
    const isReachable = childBuilds === 'account' || row.project_id === build.project_id
    verdicts.push(await decide(app, { delivery, build, row, spec, isUnapproved, isReachable }))
    // Who may not start builds after this one may not read about it, either.
    if (isReachable) pipelineIds.push(row.pipeline_id)
  }
  if (verdicts.length === 0) return noBuild('no-trigger', `No trigger waits for builds of ${build.pipeline ?? ''}.`)
  return { ...summarize(verdicts), verdicts, pipelineIds }
}

interface Case {
  readonly delivery: DeliveryRow
  readonly build: BuildRow
  readonly row: NamedEventTrigger
  readonly spec: BuildTrigger
  readonly isUnapproved: boolean
  readonly isReachable: boolean
}

async function decide(app: App, { delivery, build, row, spec, isUnapproved, isReachable }: Case): Promise<TriggerVerdict> {
  return startJudged(app, {
    delivery,
    trigger: row,
    rules: judgeBuild(spec, { build, isUnapproved, isReachable }),
    identity: ['build', build.id],
    creation: () => ({
      request: BuildInput.parse({ pipeline: row.pipeline_id, contexts: spec.contexts, ...toMachine(spec) }),
      initiator: build.initiator,
      trigger: { kind: 'completion', name: spec.name },
      parent: { id: build.id, depth: build.depth + 1 },
      overrides: { ...toOverrides(spec), variables: variablesOf(spec, build), deliveryId: delivery.id },
    }),
  })
}

/** The variables of the trigger override those of the event. */
function variablesOf({ variables }: BuildTrigger, build: BuildRow): Record<string, string> {
  return {
    EVENT_BUILD_ID: build.id,
    EVENT_BUILD_STATUS: build.status,
    ...defined({
      EVENT_PIPELINE: build.pipeline ?? undefined,
      EVENT_BRANCH: build.branch ?? undefined,
      EVENT_REVISION: build.revision ?? undefined,
    }),
    ...Object.fromEntries(variables.map(({ key, value }) => [key, value])),
  }
}
