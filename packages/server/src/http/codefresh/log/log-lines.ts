/**
 * The log of a build as public clients show it: steps in the order of their first output, each with lines that carry their time. The same build always
 * gives the same keys, so that a client that reads again recognizes what it has.
 */
import { isFinalBuild } from '@windlass/plan'
import { isTerminalStream, serviceStream, stepStream, SYSTEM_STREAM, type FeedItem } from '@windlass/protocol'
import type { BuildRow } from '../../../store/schema/schema.ts'

export interface LogStep {
  /** Sorts in the order of the steps. Not a bare number, which clients turn into an array index. */
  readonly key: string
  readonly name: string
  readonly createdAt: number
}

/** New lines of one step, in order. */
export interface LogAddition {
  readonly step: LogStep
  readonly isNew: boolean
  readonly lines: readonly LogLine[]
}

export interface LogLine {
  readonly key: string
  readonly text: string
}

export interface LogLines {
  /** Returns the lines that an item of the feed completes. */
  take(item: FeedItem): LogAddition[]
  /** Returns what follows the last item of a build that has ended: unfinished lines, and the cause of its end. */
  end(build: EndedBuild): LogAddition[]
}

export type EndedBuild = Pick<BuildRow, 'status' | 'message' | 'hint' | 'finished_at'>

/** Longer lines are passed on in pieces. Characters. */
const MAX_LINE_CHARS = 65_536
const SERVICES = /^(.*)\.services$/

/** Returns the name of the step that a stream is shown in; undefined for streams that are not part of the log. */
export function stepNameOf(stream: string, attempt: number): string | undefined {
  if (isTerminalStream(stream)) return undefined
  const name = stream === SYSTEM_STREAM ? 'Initializing Process' : ownerOf(stream.replace(/^step\//, ''))
  return attempt > 1 ? `${name} (attempt ${attempt})` : name
}

function ownerOf(name: string): string {
  const owner = SERVICES.exec(name)?.[1]
  return owner === '' ? 'Services' : (owner ?? name)
}

export interface LineSplitter {
  /** Returns the lines that the bytes complete, each with its time and line end. */
  push(bytes: Uint8Array, at: number): string[]
  /** Returns the last line if it has no line end. */
  flush(): string[]
}

/** Splits the bytes of one stream. A character or line may continue in the next bytes. */
export function openLineSplitter(): LineSplitter {
  const decoder = new TextDecoder()
  let rest = ''
  let at = 0
  /** True if the start of the current line was passed on. */
  let isContinued = false
  const start = (): string => (isContinued ? '' : `[${new Date(at).toISOString()}] `)
  return {
    push(bytes, time) {
      at = time
      const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n')
      rest = parts.pop() ?? ''
      const lines = parts.map((part) => {
        const line = `${start()}${part.replace(/\r$/, '')}\r\n`
        isContinued = false
        return line
      })
      while (rest.length > MAX_LINE_CHARS) {
        lines.push(start() + rest.slice(0, MAX_LINE_CHARS))
        rest = rest.slice(MAX_LINE_CHARS)
        isContinued = true
      }
      return lines
    },
    flush() {
      const last = rest + decoder.decode()
      const lines = last === '' && !isContinued ? [] : [`${start()}${last}\r\n`]
      rest = ''
      isContinued = false
      return lines
    },
  }
}

/** Returns the lines that say why a build did not succeed; none for a successful one. */
export function endLines({ status, message, hint, finished_at: at }: EndedBuild): string[] {
  if (status === 'success' || message === null) return []
  const time = `[${new Date(at ?? 0).toISOString()}] `
  return [`${status}: ${message}`, ...(hint === null ? [] : [hint])].flatMap((text) =>
    text.split('\n').map((line) => `${time}${line}\r\n`),
  )
}

/** Name of the step that shows why a build did not succeed. */
export const END_STEP = 'Build'

interface OpenStep extends LogStep {
  /** Number of lines so far. */
  count: number
}

/** Converts a feed from its first item on. */
export function openLogLines(): LogLines {
  const steps = new Map<string, OpenStep>()
  const splitters = new Map<string, { readonly splitter: LineSplitter; readonly name: string }>()

  function add(name: string, at: number, texts: readonly string[]): LogAddition[] {
    if (texts.length === 0) return []
    const known = steps.get(name)
    const step = known ?? { key: `s${String(steps.size).padStart(6, '0')}`, name, createdAt: at, count: 0 }
    steps.set(name, step)
    const lines = texts.map((text) => ({ key: `l${String((step.count += 1)).padStart(9, '0')}`, text }))
    return [{ step, isNew: known === undefined, lines }]
  }

  /** Completes the last lines of a step, after which no output of it follows in the feed. */
  function finish(step: string, { attempt, at }: Pick<FeedItem, 'attempt' | 'at'>): LogAddition[] {
    return [stepStream(step), serviceStream(step)].flatMap((stream) => {
      const open = splitters.get(`${attempt}/${stream}`)
      return open === undefined ? [] : add(open.name, at, open.splitter.flush())
    })
  }

  return {
    take(item) {
      if (item.kind === 'event') return item.type === 'step.finished' ? finish(String(item.data['step']), item) : []
      const name = stepNameOf(item.stream, item.attempt)
      if (name === undefined) return []
      const key = `${item.attempt}/${item.stream}`
      const open = splitters.get(key) ?? { splitter: openLineSplitter(), name }
      splitters.set(key, open)
      return add(name, item.at, open.splitter.push(Buffer.from(item.bytes, 'base64'), item.at))
    },
    end(build) {
      const at = build.finished_at ?? 0
      const rests = [...splitters.values()].flatMap(({ splitter, name }) => add(name, at, splitter.flush()))
      return isFinalBuild(build.status) ? [...rests, ...add(END_STEP, at, endLines(build))] : rests
    },
  }
}
