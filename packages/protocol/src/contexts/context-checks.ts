/** Checks of contexts: what the agent of a runtime found where a context leads. */
import { z } from 'zod'
import { Name, Time } from '../base.ts'

/**
 * Why a check did not succeed. `refused`: what the context leads to answered, and builds cannot use it with these values. `unreachable`: it did not
 * answer as expected.
 */
export const CONTEXT_CHECK_REASONS = {
  unauthorized: 'refused',
  forbidden: 'refused',
  'not-found': 'refused',
  'key-missing': 'refused',
  'not-allowed': 'refused',
  'value-invalid': 'refused',
  'plain-http': 'refused',
  'name-unresolved': 'unreachable',
  'no-connection': 'unreachable',
  timeout: 'unreachable',
  tls: 'unreachable',
  proxy: 'unreachable',
  redirected: 'unreachable',
  'foreign-host': 'unreachable',
  'address-blocked': 'unreachable',
  'unexpected-answer': 'unreachable',
  'too-large': 'unreachable',
  busy: 'unreachable',
  'check-failed': 'unreachable',
} as const satisfies Readonly<Record<string, 'refused' | 'unreachable'>>
export type ContextCheckReason = keyof typeof CONTEXT_CHECK_REASONS
const REASON_NAMES = Object.keys(CONTEXT_CHECK_REASONS) as [ContextCheckReason, ...ContextCheckReason[]]

/** What an agent found. It contains no secret, and nothing of what was read but the name of the user. */
export const ContextCheckResult = z.object({
  outcome: z.enum(['reached', 'refused', 'unreachable']),
  /** Absent if it was reached. */
  reason: z.enum(REASON_NAMES).optional(),
  message: z.string().min(1).max(1000),
  /** What to do, or what the check could not find out. */
  hint: z.string().max(1000).optional(),
  /** Host with optional port. */
  host: z.string().max(300).optional(),
  /** Whom the other side takes the login for. */
  identity: z.string().max(200).optional(),
  /** Milliseconds. */
  tookMs: z.int().nonnegative(),
})
export type ContextCheckResult = z.infer<typeof ContextCheckResult>

export const ContextCheckInput = z.strictObject({
  /** Runtime whose agent checks. Default: the runtime that the context is for, otherwise the default one. */
  runtime: Name.optional(),
})
export type ContextCheckInput = z.infer<typeof ContextCheckInput>

/** The last check of a context by the agent of one runtime. */
export const ContextCheck = z.object({
  runtime: z.string(),
  /** Name of the agent that was asked. */
  agent: z.string(),
  /** `failed`: the agent sent no result; `message` says why. */
  state: z.enum(['running', 'done', 'failed']),
  message: z.string().optional(),
  requestedAt: Time,
  requestedBy: z.string(),
  /** The last result, also while a new check runs. */
  result: ContextCheckResult.extend({
    at: Time,
    /** The context was changed after the request of this check. */
    isOutdated: z.boolean(),
  }).optional(),
})
export type ContextCheck = z.infer<typeof ContextCheck>
