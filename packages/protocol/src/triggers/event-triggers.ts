/** Triggers for images, charts and ended builds in `/v1`, and the registries that report images and charts. */
import { FINAL_BUILD_STATUSES } from '@windlass/plan'
import { z } from 'zod'
import { Id, Name, Time } from '../base.ts'
import { GitTrigger } from './triggers.ts'

/** Image as in `docker push`, without host and tag. */
const ImageName = z
  .string()
  .max(400)
  .regex(/^[^\s:@]+$/, 'must be the name of an image without host and tag: team/app')

const common = {
  name: GitTrigger.shape.name,
  description: GitTrigger.shape.description,
  disabled: z.boolean().default(false),
  contexts: GitTrigger.shape.contexts,
  priority: GitTrigger.shape.priority,
  variables: GitTrigger.shape.variables,
  options: GitTrigger.shape.options,
  runtimeEnvironment: GitTrigger.shape.runtimeEnvironment,
}

const source = {
  /** Accept only this webhook. Default: all webhooks of registries. */
  webhook: Name.optional(),
}

/** An image was pushed. */
const RegistryTrigger = z.object({
  type: z.literal('registry'),
  ...common,
  ...source,
  image: ImageName,
  /** Build only for these tags. */
  tag: z.string().max(1000).optional(),
})
/** A Helm chart was pushed. */
const HelmTrigger = z.object({
  type: z.literal('helm'),
  ...common,
  ...source,
  chart: ImageName,
  /** Build only for these versions. */
  version: z.string().max(1000).optional(),
})
/** A build of another pipeline ended. */
const BuildTrigger = z.object({
  type: z.literal('build'),
  ...common,
  /** Name or id of the pipeline whose builds start builds. */
  source: Name,
  statuses: z.array(z.enum(FINAL_BUILD_STATUSES)).min(1).max(3).default(['success']),
  /** Build only after builds of these branches. */
  branchRegex: GitTrigger.shape.branchRegex,
})

/** The fields of the triggers, as documents name them. */
export const EventTrigger = z.discriminatedUnion('type', [RegistryTrigger, HelmTrigger, BuildTrigger])
export type EventTrigger = z.output<typeof EventTrigger>
export const EVENT_TRIGGER_TYPES = ['registry', 'helm', 'build'] as const satisfies readonly EventTrigger['type'][]

/** Name or id. */
const of = { pipeline: Name }
/** Creates or replaces a trigger. */
export const EventTriggerInput = z.discriminatedUnion('type', [
  z.strictObject({ ...RegistryTrigger.shape, ...of }),
  z.strictObject({ ...HelmTrigger.shape, ...of }),
  z.strictObject({ ...BuildTrigger.shape, ...of }),
])
export type EventTriggerInput = z.input<typeof EventTriggerInput>

const stored = {
  id: Id,
  pipeline: z.string(),
  /** `document`: the document of the pipeline contains it, and can only be changed there. */
  origin: z.enum(['document', 'api']),
  createdAt: Time,
  updatedAt: Time,
}
/** A trigger of a pipeline. Its `name` is unique in the pipeline among these triggers; `pipeline#name` and `id` identify it. */
export const PipelineEventTrigger = z.discriminatedUnion('type', [
  RegistryTrigger.extend(stored),
  HelmTrigger.extend(stored),
  BuildTrigger.extend(stored),
])
export type PipelineEventTrigger = z.infer<typeof PipelineEventTrigger>
