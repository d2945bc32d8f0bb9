/** Cron triggers of pipelines in `/v1`. */
import { z } from 'zod'
import { Id, Name, Time } from '../base.ts'
import { GitTrigger } from './triggers.ts'

/** The fields of a cron trigger, as documents name them. */
export const CronTrigger = z.object({
  type: z.literal('cron').default('cron'),
  name: GitTrigger.shape.name,
  description: GitTrigger.shape.description,
  /** Value of `EVENT_MESSAGE`. */
  message: z
    .string()
    .min(2)
    .max(128)
    .regex(/^[A-Za-z0-9 _+\-#?.:]+$/, 'must contain only letters, digits, spaces and _ + - # ? . :'),
  /** Minute, hour, day of the month, month and day of the week; optionally a year; or `@daily` and similar words. */
  expression: z.string().min(1).max(150),
  /** Time zone of the expression, such as `Europe/Berlin`. */
  timezone: z.string().max(100).default('UTC'),
  disabled: z.boolean().default(false),
  /** Name of a Git trigger of the pipeline whose repository the build gets. Needs `branch`. */
  gitTrigger: GitTrigger.shape.name.optional(),
  branch: z.string().min(1).max(500).optional(),
  contexts: GitTrigger.shape.contexts,
  priority: GitTrigger.shape.priority,
  variables: GitTrigger.shape.variables,
  options: GitTrigger.shape.options,
  runtimeEnvironment: GitTrigger.shape.runtimeEnvironment,
})
export type CronTrigger = z.output<typeof CronTrigger>

/** Creates or replaces a cron trigger. */
export const CronTriggerInput = z.strictObject(CronTrigger.shape).extend({
  /** Name or id. */
  pipeline: Name,
})
export type CronTriggerInput = z.input<typeof CronTriggerInput>

export const PipelineCronTrigger = CronTrigger.extend({
  id: Id,
  pipeline: z.string(),
  /** `document`: the document of the pipeline contains it, and can only be changed there. */
  origin: z.enum(['document', 'api']),
  /** When it starts its next build. Absent if it is disabled, or its year has passed. */
  nextAt: Time.optional(),
  /** When it started its last build. */
  firedAt: Time.optional(),
  /** Why its last build could not be created. */
  problem: z.string().optional(),
  createdAt: Time,
  updatedAt: Time,
})
export type PipelineCronTrigger = z.infer<typeof PipelineCronTrigger>
