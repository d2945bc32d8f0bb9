/** Marks of a log, and lines that another log lacks. Lines are counted from 0 in their stream, as in `log-lines.ts`. */
import { FOLD_STYLES, PROBLEM_KINDS } from '@windlass/plan'
import { z } from 'zod'
import { Id } from '../base.ts'

const Stream = z.string().min(1).max(200)
const Attempt = z.coerce.number().int().positive()

/** Query of `GET /v1/builds/{id}/log/marks`. */
export const LogMarksQuery = z.object({
  stream: Stream,
  /** Default: the last attempt that has the stream. */
  attempt: Attempt.optional(),
})
export type LogMarksQuery = z.input<typeof LogMarksQuery>

/** A part of a log that can be folded, by markers that the output contains. */
export const LogFold = z.object({
  /** `group`: `::group::`; `section`: `section_start:`; `travis`: `travis_fold:`; `heading`: `--- NAME`, `+++ NAME` or `~~~ NAME`. */
  style: z.enum(FOLD_STYLES),
  name: z.string(),
  /** Line of its heading. */
  from: z.int(),
  /** Its last line. Absent while it is open. */
  to: z.int().optional(),
  /** Number of folds around it. */
  depth: z.int(),
  /** True if the output asks to show it folded. */
  isFolded: z.boolean(),
})
export type LogFold = z.infer<typeof LogFold>

/** A line with which a tool reports a failure. */
export const LogProblem = z.object({
  line: z.int(),
  /** Who reports it: a compiler or linker, a test runner or an exception, another tool, or Windlass. */
  kind: z.enum(PROBLEM_KINDS),
  /** The visible text, at most 300 characters. */
  text: z.string(),
})
export type LogProblem = z.infer<typeof LogProblem>

/** Marks of a stream, in the order of their lines. */
export const LogMarks = z.object({
  attempt: z.int(),
  stream: z.string(),
  /** Number of lines that were read so far. */
  lines: z.int(),
  /** True if the stream has ended and all of it was read. Otherwise a later call may return more. */
  complete: z.boolean(),
  /** True if the log has more than 10,000 folds or 1,000 problems; the rest is not marked. */
  isCut: z.boolean(),
  folds: z.array(LogFold),
  problems: z.array(LogProblem),
})
export type LogMarks = z.infer<typeof LogMarks>

/** Maximum number of lines of one answer. */
const MAX_NEW_LINES = 10_000

/** Query of `GET /v1/builds/{id}/log/new`. */
export const LogNewQuery = LogMarksQuery.extend({
  /** Id of the build to compare with. Default: the last successful build of the branch. */
  against: Id.optional(),
  /** Maximum number of lines in the answer. All are counted. */
  limit: z.coerce.number().int().min(1).max(MAX_NEW_LINES).default(1_000),
})
export type LogNewQuery = z.input<typeof LogNewQuery>

/** Lines whose normal form, without numbers, ids, times and paths, does not occur in the same stream of the other build. */
export const LogNew = z.object({
  attempt: z.int(),
  stream: z.string(),
  /** The log that it is compared with: its last attempt that has the stream. */
  against: z.object({ id: Id, number: z.int(), attempt: z.int() }),
  /** Number of new lines. */
  count: z.int(),
  /** The first of them: number and visible text, at most 1,000 characters. */
  lines: z.array(z.object({ line: z.int(), text: z.string() })),
  /** True if all lines of both logs were compared. At most 2,000,000 lines of each are. */
  complete: z.boolean(),
})
export type LogNew = z.infer<typeof LogNew>
