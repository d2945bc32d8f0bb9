/** Calls of registries: which triggers accept their images and charts, and what these build. */
import { defined, parseJson } from '@windlass/kit'
import { BuildInput, EventTrigger, type Registry, type TriggerVerdict } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { isIgnored } from '../../forges/event.ts'
import { isArtifact, type Artifact } from '../../registries/artifact.ts'
import { REGISTRY_READERS } from '../../registries/registries.ts'
import type { DeliveryRow, WebhookRow } from '../../store/schema/schema.ts'
import { listTriggersOfSubject, type NamedEventTrigger } from '../../store/triggers/event-triggers.ts'
import { toMachine, toOverrides } from '../build-input.ts'
import { startJudged } from '../start.ts'
import { isReplayedFor, noBuild, summarize, type Outcome } from '../rules/verdicts.ts'
import { judgeArtifact, type ArtifactTrigger } from './judge-event.ts'
import { placeOf } from '../../store/places.ts'

export interface ArtifactDelivery {
  readonly delivery: DeliveryRow
  readonly webhook: WebhookRow
  readonly registry: Registry
}

/** Starts the builds of the images and charts of a call. */
export async function buildArtifacts(app: App, { delivery, webhook, registry }: ArtifactDelivery): Promise<Outcome> {
  const read = REGISTRY_READERS[registry].parse(parseJson(delivery.body ?? ''))
  const artifacts = read.filter(isArtifact)
  const [first] = artifacts
  if (first === undefined) {
    const found = read.find(isIgnored)
    return noBuild(found?.reason ?? 'event-unsupported', found?.message ?? 'The call contains no image or chart.')
  }
  if (webhook.repo !== null && artifacts.some(({ name }) => name.toLowerCase() !== webhook.repo))
    return noBuild('repository-refused', `The webhook accepts only events of ${webhook.repo}.`)
  const verdicts: TriggerVerdict[] = []
  const pipelineIds: string[] = []
  for (const artifact of artifacts)
    for (const trigger of await listArtifactTriggers(app, artifact, webhook.name)) {
      if (!isReplayedFor(delivery, placeOf(trigger.row))) continue
      verdicts.push(await decide(app, { delivery, artifact, ...trigger }))
      pipelineIds.push(trigger.row.pipeline_id)
    }
  if (verdicts.length === 0) return noBuild('no-trigger', `No trigger accepts ${first.name} from this webhook.`)
  return { ...summarize(verdicts), verdicts, pipelineIds }
}

export interface ReadTrigger {
  readonly row: NamedEventTrigger
  readonly spec: ArtifactTrigger
}

/** Lists the triggers for an image or a chart. Without `webhook` also those that accept only one webhook. */
export async function listArtifactTriggers(app: App, { type, name }: Artifact, webhook?: string): Promise<ReadTrigger[]> {
  const rows = await listTriggersOfSubject(app.store.query, app.accountId, { type, subjects: [name.toLowerCase()] })
  return rows.flatMap((row) => {
    const spec = EventTrigger.parse(JSON.parse(row.spec))
    if (spec.type === 'build') return []
    const isAccepted = webhook === undefined || spec.webhook === undefined || spec.webhook === webhook
    return isAccepted ? [{ row, spec }] : []
  })
}

interface Case extends ReadTrigger {
  readonly delivery: DeliveryRow
  readonly artifact: Artifact
}

async function decide(app: App, { delivery, artifact, row, spec }: Case): Promise<TriggerVerdict> {
  const { type, name, tag, digest, pushedAt } = artifact
  return startJudged(app, {
    delivery,
    trigger: row,
    rules: judgeArtifact(spec, artifact),
    // A registry without times and digests reports a second push of a tag like the first one, so its call tells them apart.
    identity: [type, name.toLowerCase(), tag, digest, pushedAt ?? (digest === undefined ? delivery.key : '')],
    creation: () => ({
      request: BuildInput.parse({ pipeline: row.pipeline_id, contexts: spec.contexts, ...toMachine(spec) }),
      initiator: artifact.pusher?.slice(0, MAX_NAME) ?? delivery.forge,
      trigger: { kind: 'registry', name: spec.name },
      overrides: { ...toOverrides(spec), variables: variablesOf(spec, { artifact, delivery }), deliveryId: delivery.id },
    }),
  })
}

const MAX_NAME = 200
/** Longest body that is a variable, because all variables together must fit into the environment of a process. Steps find any body in `event.json`. */
const MAX_PAYLOAD = 32_768

/** The variables of the trigger override those of the event. */
function variablesOf(
  { variables }: ArtifactTrigger,
  { artifact, delivery }: Pick<Case, 'artifact' | 'delivery'>,
): Record<string, string> {
  const { name, namespace, tag, digest, pusher, pushedAt } = artifact
  const payload = delivery.body !== null && delivery.body.length <= MAX_PAYLOAD ? delivery.body : undefined
  return {
    EVENT_NAME: namespace !== undefined && name.startsWith(`${namespace}/`) ? name.slice(namespace.length + 1) : name,
    EVENT_TAG: tag,
    ...defined({
      EVENT_NAMESPACE: namespace,
      EVENT_DIGEST: digest,
      EVENT_PUSHER: pusher,
      EVENT_PUSHED_AT: pushedAt,
      EVENT_PAYLOAD: payload,
    }),
    ...Object.fromEntries(variables.map(({ key, value }) => [key, value])),
  }
}
