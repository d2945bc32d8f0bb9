/** Health of the server and of runtime environments in one sentence. The rules are in `judge.ts`. */
import { z } from 'zod'
import { Time } from '../base.ts'

/** `warning`: builds run, but not as they should. `error`: builds cannot run. */
export const HEALTH_LEVELS = ['ok', 'warning', 'error'] as const
export type HealthLevel = (typeof HEALTH_LEVELS)[number]

export const HealthFinding = z.object({
  code: z.string(),
  level: z.enum(HEALTH_LEVELS),
  message: z.string(),
  hint: z.string(),
  since: Time.optional(),
})
export type HealthFinding = z.infer<typeof HealthFinding>

/** Level and sentence of the worst finding, or a sentence about the load if there is none. */
export const HealthSummary = z.object({ level: z.enum(HEALTH_LEVELS), sentence: z.string() })
export type HealthSummary = z.infer<typeof HealthSummary>

/** Answer of `GET /v1/health/runtimes/{name}`. The worst finding comes first. */
export const Health = HealthSummary.extend({ findings: z.array(HealthFinding) })
export type Health = z.infer<typeof Health>

/** Answer of `GET /v1/health`. Findings of runtimes are in `runtimes` only. */
export const ServerHealth = Health.extend({ runtimes: z.array(HealthSummary.extend({ name: z.string() })) })
export type ServerHealth = z.infer<typeof ServerHealth>
