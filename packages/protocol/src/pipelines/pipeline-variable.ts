import { z } from 'zod'

/** A variable of a pipeline or a trigger. */
export const PipelineVariable = z.object({
  key: z.string().min(1).max(200),
  value: z.string(),
  encrypted: z.boolean().default(false),
})
