/** The tables of triggers and deliveries. `schema.ts` says what columns may contain. */
import type { Delivery, EventTrigger, Forge, NoBuildReason, Registry } from '@windlass/protocol'

/** Who reports an event: a forge, a registry, or the server itself for the end of a build. */
export type Sender = Forge | Registry | 'windlass'

export interface TriggerSchema {
  pipeline_trigger: PipelineTriggerRow
  cron_trigger: CronTriggerRow
  event_trigger: EventTriggerRow
  webhook: WebhookRow
  delivery: DeliveryRow
  firing: FiringRow
  polled_repo: PolledRepoRow
  branch_head: BranchHeadRow
  pull_request: PullRequestRow
  delivery_pipeline: DeliveryPipelineRow
}

/** A trigger of a pipeline. */
export interface PipelineTriggerRow {
  id: string
  account_id: string
  pipeline_id: string
  /** Unique in the pipeline. */
  name: string
  /** `document`: written with the document of the pipeline. */
  origin: 'document' | 'api'
  /** `owner/name` in lower case. */
  repo: string
  /** Maximum concurrent builds; null for the limit of the pipeline. */
  concurrency: number | null
  /** JSON: GitTrigger. */
  spec: string
  created_at: number
  updated_at: number
}

/** A trigger of a pipeline that starts builds at certain times. */
export interface CronTriggerRow {
  id: string
  account_id: string
  pipeline_id: string
  /** Unique in the pipeline among cron triggers. */
  name: string
  /** `document`: written with the document of the pipeline. */
  origin: 'document' | 'api'
  /** JSON: CronTrigger. */
  spec: string
  /** When it starts its next build; null for never. */
  next_at: number | null
  fired_at: number | null
  /** Why its last build could not be created. */
  problem: string | null
  created_at: number
  updated_at: number
}

/** An address that a forge or a registry calls. */
export interface WebhookRow {
  id: string
  account_id: string
  name: string
  forge: Forge | Registry
  /** Name of a Git context; null for none. */
  context: string | null
  /** The only repository whose events are accepted, `owner/name` in lower case; null for all. */
  repo: string | null
  /** Sealed. */
  secret: string
  /** 1: the branches of its repositories are polled, if it has a context. */
  polls: 0 | 1
  /** JSON: ProxyIntegration; null if the server itself reaches the forge. */
  app_proxy: string | null
  created_at: number
}

/** A call of a webhook, or the end of a build. */
export interface DeliveryRow {
  id: string
  account_id: string
  /** Empty for the end of a build. */
  webhook_id: string
  forge: Sender
  /** Unique for the webhook: the id that the forge gave the delivery, or a hash of its body. */
  key: string
  event: string | null
  /** Repository, image or chart in lower case, or the pipeline of a build. */
  repo: string | null
  branch: string | null
  revision: string | null
  status: Delivery['status']
  reason: NoBuildReason | null
  message: string | null
  /** JSON: TriggerVerdict[]; null until it is processed. */
  verdicts: string | null
  /** JSON: the headers that its event is read from. */
  headers: string
  /** As received; null for a refused call. */
  body: string | null
  replay_of: string | null
  /** 1: no call reported the event; the server found it by polling. */
  polled: 0 | 1
  /** JSON: branch -> commit before the push that polling had reported when this call came with the same head; null if there is none. */
  late_heads: string | null
  /** JSON: ids of the projects for whose triggers a replay counts; null for all. */
  projects: string | null
  /** How often the forge repeated the call. */
  repeats: number
  /** How often a server began to process it. */
  tries: number
  /** When a server may process it, again if it was interrupted; null if there is nothing left to do. */
  next_at: number | null
  received_at: number
  processed_at: number | null
}

/** A trigger that started a build for an event. Its key makes sure that it does so once. */
export interface FiringRow {
  account_id: string
  key: string
  delivery_id: string
  trigger_id: string
  build_id: string
  created_at: number
}

/** A repository whose branches are polled, because a trigger accepts its pushes from a webhook. */
export interface PolledRepoRow {
  webhook_id: string
  /** In lower case. */
  repo: string
  account_id: string
  /** As the trigger writes it. */
  name: string
  /** When the last complete list was requested; null if there was none, so that the next one only records the heads. */
  polled_at: number | null
  /** Why the last poll failed. */
  problem: string | null
  next_at: number
}

/** The head of a branch when it was polled. */
export interface BranchHeadRow {
  webhook_id: string
  repo: string
  branch: string
  account_id: string
  revision: string
  /** Commit before the push that polling reported; empty for a new branch; null if a call reported this head, or a later one the next. */
  polled_base: string | null
  /** Since when lists lack the branch; null if the last one had it. */
  missing_since: number | null
  /** When polling reported the end of the branch; null for a branch that exists. */
  ended_at: number | null
}

/** A pipeline with a trigger that was judged for a delivery. */
export interface DeliveryPipelineRow {
  pipeline_id: string
  delivery_id: string
}

/** What the last event of a pull request said, for comments that do not repeat it. */
export interface PullRequestRow {
  webhook_id: string
  /** In lower case. */
  repo: string
  number: string
  account_id: string
  branch: string | null
  target: string | null
  revision: string
  is_fork: 0 | 1
  /** When the event was received. */
  updated_at: number
}

/** A trigger of a pipeline for images, charts or ended builds. */
export interface EventTriggerRow {
  id: string
  account_id: string
  pipeline_id: string
  /** Unique in the pipeline among these triggers. */
  name: string
  /** `document`: written with the document of the pipeline. */
  origin: 'document' | 'api'
  type: EventTrigger['type']
  /** Image or chart in lower case, or the pipeline whose builds start builds, as written. */
  subject: string
  /** JSON: EventTrigger. */
  spec: string
  created_at: number
  updated_at: number
}
