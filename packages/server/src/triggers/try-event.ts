/** What an event would start, without starting it. */
import { defined, fault, parseJson } from '@windlass/kit'
import {
  GitTrigger,
  type Forge,
  type Registry,
  type TriggerTest,
  type TriggerTestInput,
  type TriggerVerdict,
} from '@windlass/protocol'
import type { App } from '../app.ts'
import { isEvent, isIgnored, type ForgeEvent, type Ignored } from '../forges/event.ts'
import { FORGE_READERS, isForge } from '../forges/forge.ts'
import { isArtifact } from '../registries/artifact.ts'
import { REGISTRY_READERS } from '../registries/registries.ts'
import { listTriggersOfRepo } from '../store/triggers/triggers.ts'
import { listArtifactTriggers } from './events/artifact-delivery.ts'
import { judgeArtifact } from './events/judge-event.ts'
import { conclude, judge } from './rules/judge.ts'
import { findListedPipeline } from './of-pipeline.ts'
import { withPullRequest } from './rules/pull-requests.ts'
import { isWithin, placeOf, type Places } from '../store/places.ts'

/** Judges the triggers of an event, only those of the given places. Throws `request-invalid` for a body that is not JSON, and `not-found` for an unknown pipeline. */
export async function tryEvent(app: App, input: TriggerTestInput, places?: Places): Promise<TriggerTest> {
  const body = parseJson(input.body)
  if (body === undefined)
    throw fault('request-invalid', {
      message: 'The body is not JSON.',
      hint: 'Use the body of a webhook call, as the forge or registry shows it.',
    })
  const only = await findListedPipeline(app, { pipeline: input.pipeline, places })
  const isShown = (row: { readonly pipeline_id: string; readonly project_id: string | null }): boolean =>
    (only === undefined || row.pipeline_id === only) && isWithin(places, placeOf(row))
  const { forge } = input
  return forge === undefined
    ? tryArtifacts(app, { ...input, body, isShown })
    : tryForgeEvents(app, { ...input, forge, body, isShown })
}

interface Trial {
  readonly event?: string | undefined
  readonly body: unknown
  /** True if the caller asked for the triggers of the pipeline, and may see them. */
  readonly isShown: (row: { readonly pipeline_id: string; readonly project_id: string | null }) => boolean
}

async function tryArtifacts(
  app: App,
  { registry, body, isShown }: Trial & { readonly registry?: Registry | undefined },
): Promise<TriggerTest> {
  const read = registry === undefined ? [] : REGISTRY_READERS[registry].parse(body)
  const artifacts = read.filter(isArtifact)
  const [first] = artifacts
  if (first === undefined) return nothing(read.find(isIgnored))
  const found = await Promise.all(
    artifacts.map(async (artifact) =>
      (await listArtifactTriggers(app, artifact))
        .filter(({ row }) => isShown(row))
        .map(({ row, spec }) => {
          const rules = judgeArtifact(spec, artifact)
          return { pipeline: row.pipeline, trigger: row.name, ...conclude(rules), rules }
        }),
    ),
  )
  const triggers = found.flat()
  return {
    events: artifacts.map(({ type }) => `${type} push`),
    repo: first.name,
    branch: first.tag,
    ...defined({ revision: first.digest }),
    ...(triggers.length === 0 && noTrigger(first.name)),
    triggers,
  }
}

function nothing(found: Ignored | undefined): TriggerTest {
  const { reason, message } = found ?? { reason: 'event-unsupported', message: 'The event contains no change.' }
  return { events: [], reason, message, triggers: [] }
}

function noTrigger(name: string): Pick<TriggerTest, 'reason' | 'message'> {
  return { reason: 'no-trigger', message: `No trigger names ${name}.` }
}

async function tryForgeEvents(app: App, input: Trial & { readonly forge: Forge }): Promise<TriggerTest> {
  const { query } = app.store
  const reader = FORGE_READERS[input.forge]
  const read = reader.parse(input.event === undefined ? {} : reader.headersFor(input.event), input.body)
  const bare = read.filter(isEvent)
  const [first] = bare
  if (first === undefined) return nothing(read.find(isIgnored))
  const triggers = (await listTriggersOfRepo(query, app.accountId, first.repo.toLowerCase()))
    .filter(input.isShown)
    .map((row) => ({ pipeline: row.pipeline, spec: GitTrigger.parse(JSON.parse(row.spec)) }))
    .filter(({ spec: { provider } }) => provider === undefined || isForge(provider, input.forge))
  // What earlier events said of a pull request is for those who may see a trigger of its repository.
  const events =
    triggers.length === 0
      ? bare
      : await Promise.all(bare.map((event) => withPullRequest(query, { accountId: app.accountId }, event)))
  const [shown = first] = events
  return {
    events: events.flatMap(({ names }) => [...names]),
    repo: first.repo,
    ...defined({ branch: shown.branch, revision: shown.revision }),
    ...(triggers.length === 0 && noTrigger(first.repo)),
    triggers: events.flatMap((event) => triggers.map(({ pipeline, spec }) => toVerdict(pipeline, spec, event))),
  }
}

function toVerdict(pipeline: string, spec: GitTrigger, event: ForgeEvent): TriggerVerdict {
  const rules = judge(spec, event)
  return { pipeline, trigger: spec.name, ...conclude(rules), rules }
}
