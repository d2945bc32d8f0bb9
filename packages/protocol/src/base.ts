/** Shapes that all APIs share. */
import { z } from 'zod'

/** Version of the engine and agent protocols. A server accepts versions that differ by at most one. */
export const PROTOCOL_VERSION = 2

export const Id = z.string().regex(/^[0-9a-f]{24}$/, 'must be an id of 24 hex digits')
/** Epoch milliseconds of the sender's clock. */
export const Time = z.int().nonnegative()
const MAX_URL = 2000

/**
 * Normalizes the base URL of a server and removes trailing slashes. Returns undefined if it is not valid. User name and password are not allowed
 * because viewers and steps see the URL; `?` and `#` are not allowed because a path is appended.
 */
export function parseBaseUrl(text: string): string | undefined {
  // The URL parser drops tabs and newlines, and an empty user name, query or fragment.
  if (text.length > MAX_URL || !/^https?:\/\/[^/]/i.test(text) || /[\s\p{Cc}\\?#]/u.test(text)) return undefined
  const url = URL.parse(text)
  return url === null || /^[^/]*\/\/[^/]*@/.test(text) ? undefined : url.href.replace(/\/+$/, '')
}

const NO_BASE_URL = 'must be the base URL of a server: http:// or https://, without user name, password, ? and #'

/** Base URL of a server, without `/v1`. */
export const HttpUrl = z
  .string()
  .max(MAX_URL)
  .refine((text) => parseBaseUrl(text) !== undefined, NO_BASE_URL)
  .overwrite((text) => parseBaseUrl(text) ?? text)
  .meta({ format: 'uri' })
/** Name of a project, context, runtime or pipeline (`project/name`). */
export const Name = z
  .string()
  .min(1)
  .max(150)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@:/-]*$/, 'must start with a letter or digit and contain only letters, digits and . _ @ : / -')
/** Name of a new project or pipeline. The part `-` is reserved: in addresses of pages, what follows `/-/` belongs to the page. */
export const OwnName = Name.refine((name) => !hasReservedPart(name), 'must not have a part that is only -')

/** Returns true for a name such as `team/-/app`. */
export function hasReservedPart(name: string): boolean {
  return name.split('/').includes('-')
}

/** Names and values of variables. */
export const Variables = z.record(z.string().min(1).max(200), z.string().max(1_048_576))

/** What each side announces in its first message. Decisions depend on features, not on the version. */
export const Hello = z.object({
  protocol: z.int(),
  version: z.string().max(50),
  features: z.array(z.string().max(50)).max(100),
})
export type Hello = z.infer<typeof Hello>

/** RFC 9457 problem document, the body of every error response. `message` repeats `detail` for older clients. */
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
  /** End of the stored stream, with `log-offset`. */
  offset: z.int().optional(),
  /** End of each stored stream, with `log-incomplete`. */
  offsets: z.record(z.string(), z.int()).optional(),
})
export type ProblemDocument = z.infer<typeof ProblemDocument>

/** Returns the schema of a page of a list. `next` is the cursor of the next page. */
export function page<T extends z.ZodType>(item: T): z.ZodObject<{ items: z.ZodArray<T>; next: z.ZodOptional<z.ZodString> }> {
  return z.object({ items: z.array(item), next: z.string().optional() })
}

export const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(50),
  cursor: z.string().max(200).optional(),
})
