/** What an event would start, without starting it. */
import { fault, parseJson } from '@windlass/kit'
import { GitTrigger, type TriggerTest, type TriggerTestInput, type TriggerVerdict } from '@windlass/protocol'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { isEvent, isIgnored, type ForgeEvent } from '../forges/event.ts'
import { FORGE_READERS, isForge } from '../forges/forge.ts'
import { findPipeline } from '../store/account/pipelines.ts'
import { listTriggersOfRepo } from '../store/triggers/triggers.ts'
import { judge } from './judge.ts'

/** Judges the triggers of an event. Throws `request-invalid` for a body that is not JSON, and `not-found` for an unknown pipeline. */
export async function tryEvent(app: App, input: TriggerTestInput): Promise<TriggerTest> {
  const { query } = app.store
  const body = parseJson(input.body)
  if (body === undefined)
    throw fault('request-invalid', {
      message: 'The body is not JSON.',
      hint: 'Use the body of a webhook call, as the forge shows it.',
    })
  const reader = FORGE_READERS[input.forge]
  const read = reader.parse(input.event === undefined ? {} : reader.headersFor(input.event), body)
  const events = read.filter(isEvent)
  const [first] = events
  if (first === undefined) {
    const ignored = read.find(isIgnored)
    const reason = ignored?.reason ?? 'event-unsupported'
    return { events: [], reason, message: ignored?.message ?? 'The event contains no change.', triggers: [] }
  }
  const only =
    input.pipeline === undefined
      ? undefined
      : requireFound(await findPipeline(query, app.accountId, input.pipeline), `pipeline "${input.pipeline}"`)
  const triggers = (await listTriggersOfRepo(query, app.accountId, first.repo.toLowerCase()))
    .filter((row) => only === undefined || row.pipeline_id === only.id)
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
  const failed = rules.find(({ holds }) => !holds)
  const about = { pipeline, trigger: spec.name, rules }
  return failed === undefined ? about : { ...about, reason: failed.rule, message: failed.text }
}
