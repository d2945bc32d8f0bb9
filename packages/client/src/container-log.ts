/**
 * Follows the log of a container. Kubernetes has no positions in logs, only times, so each answer begins before the last line that is known, and is joined to it: no line is lost or
 * doubled, also after a broken connection. Where the last line is not there any more, because a container was started again or its log was rotated, the part says so.
 */
import { isFault } from '@windlass/kit/faults'
import type { ContainerLog, LogLine } from '@windlass/protocol'

/** How often a log is asked for new lines. Milliseconds. */
const POLL_MS = 2_000
/** Pauses after calls that failed: the first one, and the longest one. Milliseconds. */
const RETRY_MS = { first: 1_000, longest: 15_000 }
/** Most lines that an answer can have. */
const MOST_LINES = 5_000

/** Why lines may be missing before those of a part. `cut`: more came at once than an answer has. `unsure`: the last known line is not in the log any more. */
export type LogGap = 'cut' | 'unsure'

export interface LogPart {
  readonly lines: readonly LogLine[]
  readonly gap?: LogGap
}

/** What happens to a log that is followed. */
export type LogEvent =
  | ({ readonly kind: 'lines' } & LogPart)
  /** The log that had lines has none now: the pod is gone, or its container was started again and has written nothing. Told once. */
  | { readonly kind: 'empty' }
  /** The call failed, and is repeated. The next event is a part or another failure. */
  | { readonly kind: 'away'; readonly error: unknown }

/** Where a part of the log begins. */
export interface LogStart {
  /** `at` of the last known line. */
  readonly after?: string
  readonly tail?: number
}

export interface FollowOptions {
  readonly read: (start: LogStart) => Promise<ContainerLog>
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
}

/**
 * Yields the lines of `first` on, until the signal is aborted. Throws a fault that a further try does not change, such as that of a pod that is gone.
 */
export async function* followContainerLog(first: ContainerLog, { read, sleep, signal }: FollowOptions): AsyncGenerator<LogEvent> {
  const join = openLogJoin(first)
  yield { kind: 'lines', lines: first.items }
  let isEmpty = false
  for (let failures = 0; ;) {
    const pauseMs = failures === 0 ? POLL_MS : Math.min(RETRY_MS.first * 2 ** (failures - 1), RETRY_MS.longest)
    await sleep(pauseMs, signal).catch(() => undefined)
    if (signal.aborted) return
    try {
      const answer = await next(join, read)
      const part = join.add(answer)
      const wasEmpty = isEmpty
      isEmpty = answer.items.length === 0 && join.lastAt !== undefined
      if (isEmpty && !wasEmpty) yield { kind: 'empty' }
      else if (part.lines.length > 0 || failures > 0 || (wasEmpty && !isEmpty)) yield { kind: 'lines', ...part }
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      if (!isFault(error) || !error.retryable) throw error
      failures += 1
      yield { kind: 'away', error }
    }
  }
}

/** Returns an answer that begins before the last known line, if the log still has it. */
async function next({ lastAt, has }: LogJoin, read: FollowOptions['read']): Promise<ContainerLog> {
  const tail = MOST_LINES
  const answer = await read(lastAt === undefined ? { tail } : { after: lastAt, tail })
  // The clocks of the node and of the runtime may differ by more than the answer allows for.
  return lastAt === undefined || answer.isCut === true || has(answer) ? answer : read({ tail })
}

export interface LogJoin {
  /** `at` of the last known line. */
  readonly lastAt: string | undefined
  /** True if an answer has the last known line. */
  has(answer: ContainerLog): boolean
  /** Returns the lines of an answer that are not known. */
  add(answer: ContainerLog): LogPart
}

/** Joins answers to the lines of `first`. */
export function openLogJoin(first: ContainerLog): LogJoin {
  let lastAt: string | undefined
  /** Texts of the known lines with the last time. A process can write several within the resolution of the clock. */
  let last: readonly string[] = []

  function keep(lines: readonly LogLine[]): void {
    const at = lines.at(-1)?.at
    if (at === undefined) return
    const texts = lines.slice(beginOf(lines, at)).map(({ text }) => text)
    last = at === lastAt ? [...last, ...texts] : texts
    lastAt = at
  }

  /** Returns the number of lines up to the last known one; undefined if it is not there. */
  function findEnd({ items }: ContainerLog): number | undefined {
    const from = items.findIndex(({ at }) => at === lastAt)
    if (from < 0) return undefined
    const isSame = last.every((text, index) => items[from + index]?.at === lastAt && items[from + index]?.text === text)
    return isSame ? from + last.length : undefined
  }

  keep(first.items)
  return {
    get lastAt() {
      return lastAt
    },
    has: (answer) => findEnd(answer) !== undefined,
    add(answer) {
      const { items, isCut } = answer
      if (lastAt === undefined) {
        keep(items)
        return { lines: items, ...(isCut === true && { gap: 'cut' }) }
      }
      const end = findEnd(answer)
      const known = lastAt
      const lines = end === undefined ? items.filter(({ at }) => at !== undefined && isLater(at, known)) : items.slice(end)
      keep(lines)
      // Without further lines there is no place for a gap. The next part finds it again.
      return { lines, ...(end === undefined && lines.length > 0 && { gap: isCut === true ? 'cut' : 'unsure' }) }
    },
  }
}

/** Returns where the lines at the end begin that have the time. */
function beginOf(lines: readonly LogLine[], at: string): number {
  let begin = lines.length
  while (begin > 0 && lines[begin - 1]?.at === at) begin -= 1
  return begin
}

const TIME = /^(.+:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/

/** Compares times with nanoseconds, which have as many digits as they need. */
function isLater(one: string, other: string): boolean {
  const [a, b] = [partsOf(one), partsOf(other)]
  return a.seconds === b.seconds ? a.fraction > b.fraction : a.seconds > b.seconds
}

function partsOf(time: string): { readonly seconds: number; readonly fraction: string } {
  const [, start = time, fraction = '', zone = ''] = TIME.exec(time) ?? []
  return { seconds: Date.parse(start + zone), fraction: fraction.padEnd(9, '0') }
}
