/** What the complete form of a build says about its steps and waits. */
import { z } from 'zod'
import { Time } from '../base.ts'
import { ReasonName } from '../engine/events.ts'

const Holds = z.enum(['yes', 'no', 'broken'])

/** A part of the condition of a step. */
export const WhenPart = z.object({
  part: z.enum(['branch', 'steps', 'condition']),
  /** Whether every part of this kind must hold, or one of them. */
  match: z.enum(['all', 'any']),
  /** Label of an expression, or name of a step. */
  label: z.string().optional(),
  /** The expression, the results of the step that are accepted, or the branches. */
  text: z.string(),
  /** The names that it reads, at most 50. Secrets and names without a value have no `value`; longer values are cut to 1,000 characters. */
  values: z.array(z.object({ name: z.string(), value: z.string().optional(), isSecret: z.boolean() })),
  /** Absent if it was not evaluated, or reads a secret. */
  holds: Holds.optional(),
})

/** The condition of a step, with the values that it read. */
export const StepWhen = z.object({
  /** Absent if it was not evaluated: the turn of the step did not come. */
  holds: Holds.optional(),
  /** Why it is invalid. */
  message: z.string().optional(),
  parts: z.array(WhenPart),
})
export type StepWhen = z.infer<typeof StepWhen>

/** The log of a step in one attempt, without that of its services. */
export const StepLog = z.object({
  attempt: z.int(),
  bytes: z.int(),
  /** Absent until the lines of a log that an earlier version stored are counted. */
  lines: z.int().optional(),
})
export type StepLog = z.infer<typeof StepLog>

/** How long a build waited for an attempt or an approval, by cause. */
export const WaitTime = z.object({
  reason: ReasonName,
  /** Sum of its waits for this cause, up to now. Milliseconds. */
  ms: z.int(),
  /** Since when it waits for it now. */
  since: Time.optional(),
})
export type WaitTime = z.infer<typeof WaitTime>
