/** What an event would start, without starting it. */
import { fault, parseJson } from '@windlass/kit'
import { GitTrigger, type TriggerTest, type TriggerTestInput, type TriggerVerdict } from '@windlass/protocol'
import type { App } from '../app.ts'
import { isEvent, isIgnored, type ForgeEvent } from '../forges/event.ts'
import { FORGE_READERS, isForge } from '../forges/forge.ts'
import { listTriggersOfRepo } from '../store/triggers/triggers.ts'
import { conclude, judge } from './judge.ts'
import { findListedPipeline } from './of-pipeline.ts'
import { withPullRequest } from './pull-requests.ts'

/** Judges the triggers of an event, only those of the given projects. Throws `request-invalid` for a body that is not JSON, and `not-found` for an unknown pipeline. */
export async function tryEvent(app: App, input: TriggerTestInput, projectIds?: readonly string[]): Promise<TriggerTest> {
  const { query } = app.store
  const body = parseJson(input.body)
  if (body === undefined)
    throw fault('request-invalid', {
      message: 'The body is not JSON.',
      hint: 'Use the body of a webhook call, as the forge shows it.',
    })
  const reader = FORGE_READERS[input.forge]
  const read = reader.parse(input.event === undefined ? {} : reader.headersFor(input.event), body)
  const events = await Promise.all(
    read.filter(isEvent).map((event) => withPullRequest(query, { accountId: app.accountId }, event)),
  )
  const [first] = events
  if (first === undefined) {
    const ignored = read.find(isIgnored)
    const reason = ignored?.reason ?? 'event-unsupported'
    return { events: [], reason, message: ignored?.message ?? 'The event contains no change.', triggers: [] }
  }
  const only = await findListedPipeline(app, { pipeline: input.pipeline, projectIds })
  const triggers = (await listTriggersOfRepo(query, app.accountId, first.repo.toLowerCase()))
    .filter((row) => only === undefined || row.pipeline_id === only)
    .filter((row) => projectIds === undefined || projectIds.includes(row.project_id ?? ''))
    .map((row) => ({ pipeline: row.pipeline, spec: GitTrigger.parse(JSON.parse(row.spec)) }))
    .filter(({ spec: { provider } }) => provider === undefined || isForge(provider, input.forge))
  return {
    events: events.flatMap(({ names }) => [...names]),
    repo: first.repo,
    ...(first.branch !== undefined && { branch: first.branch }),
    ...(first.revision !== undefined && { revision: first.revision }),
    ...(triggers.length === 0 && { reason: 'no-trigger' as const, message: `No trigger names ${first.repo}.` }),
    triggers: events.flatMap((event) => triggers.map(({ pipeline, spec }) => toVerdict(pipeline, spec, event))),
  }
}

function toVerdict(pipeline: string, spec: GitTrigger, event: ForgeEvent): TriggerVerdict {
  const rules = judge(spec, event)
  return { pipeline, trigger: spec.name, ...conclude(rules), rules }
}
