/** Calls of forges: which triggers accept their events, and what these build. */
import { parseJson } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { GitTrigger, type Forge, type TriggerVerdict } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { isEvent, isIgnored, type ForgeEvent, type Headers, type ReadEvent } from '../../forges/event.ts'
import { FORGE_READERS } from '../../forges/forge.ts'
import { parseGithub } from '../../forges/github.ts'
import type { DeliveryRow, WebhookRow } from '../../store/schema/schema.ts'
import { listTriggersOfRepo, type NamedTrigger } from '../../store/triggers/triggers.ts'
import { accepts, type ForgeWebhook } from '../rules/accepts.ts'
import { toBuildInput, toOverrides } from '../build-input.ts'
import { findFiles, judgeEvent, type AskedFiles } from '../rules/changed-files.ts'
import { ForgeAway, MAX_FAILURES } from './forge-away.ts'
import { identityOf } from '../poll/late-heads.ts'
import { notePullRequests, withPullRequest } from '../rules/pull-requests.ts'
import { startJudged } from '../start.ts'
import { isReplayedFor, noBuild, summarize, type Outcome } from '../rules/verdicts.ts'
import { placeOf } from '../../store/places.ts'

export interface GitDelivery {
  readonly delivery: DeliveryRow
  readonly webhook: WebhookRow
  readonly forge: Forge
}

/** Starts the builds of the events of a call. */
export async function buildGitEvents(app: App, { delivery, webhook, forge }: GitDelivery): Promise<Outcome> {
  const read = readEvents(delivery, forge)
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
    .filter(({ spec, row }) => accepts(spec, { ...webhook, forge }) && isReplayedFor(delivery, placeOf(row)))
  if (triggers.length === 0) return noBuild('no-trigger', `No trigger accepts events of ${first.repo} from this webhook.`)
  const from = { accountId: app.accountId, webhookId: webhook.id }
  const known = await Promise.all(events.map((event) => withPullRequest(app.store.query, from, event)))
  const verdicts: TriggerVerdict[] = []
  for (const event of known) {
    const of = { delivery, webhook: { ...webhook, forge }, event }
    const askFiles = openFiles(app, of)
    for (const trigger of triggers) verdicts.push(await decide(app, { ...of, askFiles, ...trigger }))
  }
  // The triggers that need no answer of the forge have started their builds, and will not do so again.
  const away = verdicts.find(({ reason }) => reason === 'forge-unreachable')
  if (away !== undefined && delivery.tries < MAX_FAILURES) throw new ForgeAway(away.message)
  return { ...summarize(verdicts), verdicts, pipelineIds: triggers.map(({ row }) => row.pipeline_id) }
}

function readHeaders(json: string): Headers {
  const parsed = parseJson(json)
  return isRecord(parsed) ? (parsed as Headers) : {}
}

/** The server writes the events that it finds by polling in the form of GitHub. */
function readEvents({ polled, headers, body }: DeliveryRow, forge: Forge): readonly ReadEvent[] {
  const json = parseJson(body ?? '')
  return polled === 1 ? [parseGithub('push', json)] : FORGE_READERS[forge].parse(readHeaders(headers), json)
}

/** Returns a function that asks the forge once for the changed files of an event. Undefined if the webhook has no context, and if only an app-proxy reaches its forge. */
function openFiles(
  app: App,
  { webhook: { forge, context, app_proxy: appProxy }, event }: Pick<Case, 'webhook' | 'event'>,
): (() => Promise<AskedFiles>) | undefined {
  // The name of a forge behind a firewall can be that of somebody else here, who must not get the Git token.
  if (context === null || appProxy !== null) return undefined
  let asked: Promise<AskedFiles> | undefined
  return () => (asked ??= findFiles(app, { forge, context }, event))
}

interface Case {
  readonly delivery: DeliveryRow
  readonly webhook: ForgeWebhook
  readonly event: ForgeEvent
  readonly askFiles: (() => Promise<AskedFiles>) | undefined
  readonly row: NamedTrigger
  readonly spec: GitTrigger
}

/** Judges a trigger, and starts its build. */
async function decide(app: App, { delivery, webhook, event, askFiles, row, spec }: Case): Promise<TriggerVerdict> {
  const { repo, branch, revision } = event
  const { name, occurrence } = identityOf(event, delivery.late_heads)
  return startJudged(app, {
    delivery,
    trigger: row,
    ...(await judgeEvent(spec, event, askFiles)),
    identity: [repo.toLowerCase(), branch, revision, name, occurrence],
    creation: () => ({
      request: toBuildInput(row.pipeline_id, spec, event),
      initiator: event.sender ?? delivery.forge,
      trigger: { kind: 'webhook', name: spec.name },
      overrides: { ...toOverrides(spec), deliveryId: delivery.id, reporting: { trigger: spec, webhook, repo: event.repo } },
    }),
  })
}
