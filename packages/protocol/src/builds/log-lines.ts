/**
 * The log of a build by lines: its streams, ranges of lines, and search. A line ends with a line feed and is counted from 0 in its stream, so its number
 * never changes. Carriage returns end no line.
 */
import { z } from 'zod'
import { PageQuery, Time } from '../base.ts'

const Stream = z.string().min(1).max(200)
const Attempt = z.coerce.number().int().positive()

export const LogStream = z.object({
  attempt: z.int(),
  /** `system`, `step/NAME` or `step/NAME.services`. */
  stream: z.string(),
  bytes: z.int(),
  /** Number of lines, with the last one if it is unfinished. Absent until the lines of a log that an earlier version stored are counted. */
  lines: z.int().optional(),
  /** Time of the first and last output. */
  firstAt: Time.optional(),
  lastAt: Time.optional(),
  /** True while output may follow. */
  open: z.boolean(),
  /** True if the attempt was lost before its engine could send all output. */
  cut: z.boolean(),
  /** With `cut`: number of bytes that are known to be missing. */
  missingBytes: z.int().optional(),
})
export type LogStream = z.infer<typeof LogStream>

/** Query of `GET /v1/builds/{id}/streams`. */
export const LogStreamQuery = PageQuery.extend({
  attempt: Attempt.optional(),
  limit: z.coerce.number().int().min(1).max(2_000).default(500),
  /** `ATTEMPT STREAM` of the last stream of the previous page. */
  cursor: z
    .string()
    .max(300)
    .regex(/^\d+ .+$/, 'must be `next` of the previous page')
    .optional(),
})

/** A page of streams, by attempt and name. Output of debug terminals is not in the list. */
export const LogStreams = z.object({
  items: z.array(LogStream),
  next: z.string().optional(),
  /** When the log was deleted because of its age. Its streams are then missing. */
  expiredAt: Time.optional(),
})
export type LogStreams = z.infer<typeof LogStreams>

/** Maximum number of lines of one answer. */
export const MAX_LINES = 5_000
/** Maximum bytes of text of one answer. */
export const MAX_LINES_BYTES = 1_048_576
/** Longer lines are cut. Bytes. */
export const MAX_LINE_BYTES = 16_384

/** Query of `GET /v1/builds/{id}/log/lines`. */
export const LogLinesQuery = z.object({
  stream: Stream,
  /** Default: the last attempt that has the stream. */
  attempt: Attempt.optional(),
  /** First line. A negative number counts from the end: -1 is the last line. */
  from: z.coerce.number().int().min(-1_000_000_000).max(1_000_000_000_000).default(0),
  count: z.coerce.number().int().min(1).max(MAX_LINES).default(512),
})

/** Lines of a stream. An answer that is `complete` never changes. */
export const LogLines = z.object({
  attempt: z.int(),
  stream: z.string(),
  from: z.int(),
  /** Number of lines in `text`. Fewer than requested at the end of the stream, or if the text would have more than 1 MiB. */
  lines: z.int(),
  /** Number of lines of the stream. */
  total: z.int(),
  /** True if further output does not change these lines and adds none to them. */
  complete: z.boolean(),
  /** Offset of the first line in the stream, and number of bytes of the lines there. */
  startByte: z.int(),
  bytes: z.int(),
  /** Parameters of the SGR sequence for the colors at the start of the first line, such as `1;31`; empty for none. Looks back for at most 64 KiB. */
  sgr: z.string(),
  /** Time of the output by line: each entry counts until the next one. */
  times: z.array(z.tuple([z.int(), Time])),
  /**
   * Lines of which a part is left out, with the number of bytes that are: the end, or the earlier states of a line that overwrites itself with carriage
   * returns.
   */
  cut: z.array(z.tuple([z.int(), z.int()])),
  /** The lines with their line feeds. The last one has none if it is unfinished. Bytes that are not UTF-8 are U+FFFD. */
  text: z.string(),
})
export type LogLines = z.infer<typeof LogLines>

/** Maximum number of matches of one answer. */
export const MAX_MATCHES = 10_000

/** Query of `GET /v1/builds/{id}/log/search`. */
export const LogSearchQuery = z.object({
  /** Text, or a regular expression with `regex`. */
  q: z
    .string()
    .min(1)
    .max(1_000)
    .refine((text) => !text.includes('\n'), 'must not contain a line feed'),
  /** JavaScript syntax without back-references, look-ahead and look-behind. */
  regex: z.stringbool().default(false),
  /** Distinguishes upper and lower case. */
  case: z.stringbool().default(false),
  /** Default: all streams. */
  stream: Stream.optional(),
  /** Default: with `stream` the last attempt that has it, otherwise all. */
  attempt: Attempt.optional(),
  /** `next` of the previous answer. */
  after: z
    .string()
    .max(300)
    .regex(/^\d+ \d+ .+$/, 'must be `next` of the previous answer')
    .optional(),
  /** The search stops at the end of the line of this match. */
  limit: z.coerce.number().int().min(1).max(MAX_MATCHES).default(1_000),
  /** Adds the text of the lines. */
  text: z.stringbool().default(false),
})

/** Matches in one stream, in order. */
export const LogMatches = z.object({
  attempt: z.int(),
  stream: z.string(),
  /** Line, column and length. Columns count UTF-16 units of the visible text: without escape sequences, and after carriage returns took effect. */
  matches: z.array(z.tuple([z.int(), z.int(), z.int()])),
  /** With `text`: the visible text around each match, at most 1,000 characters of its line. */
  texts: z.array(z.string()).optional(),
})
export type LogMatches = z.infer<typeof LogMatches>

export const LogSearch = z.object({
  streams: z.array(LogMatches),
  /** Number of matches in this answer. */
  count: z.int(),
  /** Continues the search, which stopped after `limit` matches or a second. Absent at the end of the log. */
  next: z.string().optional(),
})
export type LogSearch = z.infer<typeof LogSearch>
