/** Calls of forges: which triggers accept their events, and what these build. */
import { parseJson } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { GitTrigger, type Forge, type TriggerVerdict } from '@windlass/protocol'
import type { App } from '../app.ts'
import { isEvent, isIgnored, type ForgeEvent, type Headers } from '../forges/event.ts'
import { FORGE_READERS, isForge } from '../forges/forge.ts'
import type { DeliveryRow, WebhookRow } from '../store/schema.ts'
import { listTriggersOfRepo, type NamedTrigger } from '../store/triggers/triggers.ts'
import { toBuildInput, toOverrides } from './build-input.ts'
import { judge } from './judge.ts'
import { notePullRequests, withPullRequest } from './pull-requests.ts'
import { startJudged } from './start.ts'
import { isReplayedFor, noBuild, summarize, type Outcome } from './verdicts.ts'

export interface GitDelivery {
  readonly delivery: DeliveryRow
  readonly webhook: WebhookRow
  readonly forge: Forge
}

/** Starts the builds of the events of a call. */
export async function buildGitEvents(app: App, { delivery, webhook, forge }: GitDelivery): Promise<Outcome> {
  const read = FORGE_READERS[forge].parse(readHeaders(delivery.headers), parseJson(delivery.body ?? ''))
  const events = read.filter(isEvent)
  const [first] = events
  if (first === undefined) {
    const ignored = read.find(isIgnored)
    return ignored === undefined
      ? noBuild('event-unsupported', 'The event contains no change.')
      : noBuild(ignored.reason, ignored.message)
  }
  const repo = first.repo.toLowerCase()
  if (webhook.repo !== null && webhook.repo !== repo)
    return noBuild('repository-refused', `The webhook accepts only events of ${webhook.repo}.`)
  await notePullRequests(app, delivery, events)
  const triggers = (await listTriggersOfRepo(app.store.query, app.accountId, repo))
    .map((row) => ({ row, spec: GitTrigger.parse(JSON.parse(row.spec)) }))
    .filter(({ spec, row }) => accepts(spec, { webhook, forge }) && isReplayedFor(delivery, row.project_id))
  if (triggers.length === 0) return noBuild('no-trigger', `No trigger accepts events of ${first.repo} from this webhook.`)
  const from = { accountId: app.accountId, webhookId: webhook.id }
  const known = await Promise.all(events.map((event) => withPullRequest(app.store.query, from, event)))
  const verdicts: TriggerVerdict[] = []
  for (const event of known) for (const trigger of triggers) verdicts.push(await decide(app, { delivery, event, ...trigger }))
  return { ...summarize(verdicts), verdicts, pipelineIds: triggers.map(({ row }) => row.pipeline_id) }
}

function readHeaders(json: string): Headers {
  const parsed = parseJson(json)
  return isRecord(parsed) ? (parsed as Headers) : {}
}

/** A trigger accepts the webhooks of its context, or of its forge if it names no context. */
function accepts({ context, provider }: GitTrigger, { webhook, forge }: Pick<GitDelivery, 'webhook' | 'forge'>): boolean {
  if (provider !== undefined && !isForge(provider, forge)) return false
  return context === undefined || context === webhook.context
}

interface Case {
  readonly delivery: DeliveryRow
  readonly event: ForgeEvent
  readonly row: NamedTrigger
  readonly spec: GitTrigger
}

/** Judges a trigger, and starts its build. */
async function decide(app: App, { delivery, event, row, spec }: Case): Promise<TriggerVerdict> {
  const { repo, branch, revision, names, occurrence } = event
  return startJudged(app, {
    delivery,
    trigger: row,
    rules: judge(spec, event),
    identity: [repo.toLowerCase(), branch, revision, names[0], occurrence],
    creation: () => ({
      request: toBuildInput(row.pipeline_id, spec, event),
      initiator: event.sender ?? delivery.forge,
      trigger: { kind: 'webhook', name: spec.name },
      overrides: { ...toOverrides(spec), deliveryId: delivery.id },
    }),
  })
}
