/** Shapes that every surface shares. */
import { z } from 'zod'

/** Version of the engine and agent protocols. A server accepts its own and the neighbours on both sides. */
export const PROTOCOL_VERSION = 2

export const Id = z.string().regex(/^[0-9a-f]{24}$/, 'must be an id of 24 hex digits')
/** Epoch milliseconds of the clock of whoever says it. */
export const Time = z.int().nonnegative()
/** Names of projects, contexts, runtimes: no white space, at most 150 characters; pipelines are `project/name`. */
export const Name = z
  .string()
  .min(1)
  .max(150)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@:/-]*$/, 'must start with a letter or digit and hold only letters, digits and . _ @ : / -')
/** Names and values of variables. */
export const Variables = z.record(z.string().min(1).max(200), z.string().max(1_048_576))
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/** What each side says of itself in its first message; decisions go by features, not by version. */
export const Hello = z.object({
  protocol: z.int(),
  version: z.string().max(50),
  features: z.array(z.string().max(50)).max(100),
})
export type Hello = z.infer<typeof Hello>

/** RFC 9457 problem document, the body of every error answer. `message` repeats `detail` for older clients. */
export const ProblemDocument = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  message: z.string(),
  code: z.string(),
  hint: z.string().optional(),
  requestId: z.string().optional(),
  problems: z
    .array(
      z.object({
        message: z.string(),
        path: z.string().optional(),
        file: z.string().optional(),
        line: z.int().optional(),
        column: z.int().optional(),
        code: z.string().optional(),
        severity: z.enum(['error', 'warning']).optional(),
        hint: z.string().optional(),
      }),
    )
    .optional(),
  /** Where the stored stream ends, with `log-offset`. */
  offset: z.int().optional(),
  /** Where each stored stream ends, with `log-incomplete`. */
  offsets: z.record(z.string(), z.int()).optional(),
})
export type ProblemDocument = z.infer<typeof ProblemDocument>

/** A page of a list; `next` is the cursor of the following page. */
export function page<T extends z.ZodType>(item: T): z.ZodObject<{ items: z.ZodArray<T>; next: z.ZodOptional<z.ZodString> }> {
  return z.object({ items: z.array(item), next: z.string().optional() })
}

export const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(50),
  cursor: z.string().max(200).optional(),
})
