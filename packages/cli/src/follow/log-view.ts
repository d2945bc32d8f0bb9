/**
 * The terminal view of a running build: a header per step, its lines, its result and duration. Lines are prefixed with the step name only
 * while several steps run. The items come from `feed.ts` or package local.
 */
import { isTerminalStream } from '@windlass/protocol'
import type { Clock } from '@windlass/kit'
import { markOf, paintStatus } from '../format/style.ts'
import { formatTime } from '../format/time.ts'
import type { Terminal } from '../printer.ts'
import { lineSplitter, type LineSplitter } from './line-splitter.ts'
import { LineWriter, SYSTEM_MARK } from './line-writer.ts'
import { describeDecision, describeResult, describeStepWait } from './notes.ts'
import { describeOutcome, isPassing, textField } from './wording.ts'

/** An item to show: an event of the build, or bytes of one of its streams. */
export type ViewItem =
  | {
      readonly kind: 'event'
      readonly attempt: number
      readonly at: number
      readonly type: string
      readonly data: Readonly<Record<string, unknown>>
    }
  | { readonly kind: 'log'; readonly attempt: number; readonly at: number; readonly stream: string; readonly bytes: Uint8Array }

export interface LogViewOptions {
  /** Id of a build on a server, for the hint how to debug a held step. */
  readonly buildId?: string | undefined
  readonly terminal: Terminal
  readonly clock: Clock
  /** Prefixes each line with its time. */
  readonly timestamps?: boolean
  /** Shows only this step, without headers. */
  readonly step?: string | undefined
  /** Returns the title of a step, or its name. */
  readonly titleOf?: (step: string) => string
  /** Returns true for a group, which writes no lines itself. */
  readonly isGroup?: (step: string) => boolean
}

/** Number of last lines of each step kept for the summary. */
const KEPT_LINES = 10
const KEPT_LINE_CHARS = 500
const STEP_PREFIX = 'step/'

interface Stream {
  readonly lines: LineSplitter
  /** Last lines, for the summary. */
  last: string[]
  at: number
}

export class LogView implements Disposable {
  readonly #options: LogViewOptions
  readonly #writer: LineWriter
  readonly #streams = new Map<string, Stream>()
  /** Running steps with their start times, epoch milliseconds. */
  readonly #running = new Map<string, number>()
  /** Running groups with their start times, epoch milliseconds. */
  readonly #groups = new Map<string, number>()
  /** The step whose header was printed last. */
  #open: string | undefined
  #attempt = 0
  /** The reason of the last note about a wait. */
  #waitsFor: string | undefined

  constructor(options: LogViewOptions) {
    this.#options = options
    this.#writer = new LineWriter(options.terminal, options.clock)
  }

  /** Shows one item. Callers must pass each item once, in order. */
  show(item: ViewItem): void {
    // Recordings of debugger terminals move the cursor and are not part of the log.
    if (item.kind === 'log' && isTerminalStream(item.stream)) return
    if (item.kind === 'log') this.#showBytes(item.stream, item.bytes, item.at)
    else this.#showEvent(item)
  }

  /** Sets the status line while no step runs; undefined clears it. */
  wait(text: string | undefined): void {
    if (this.#running.size === 0) this.#writer.setStatus(text)
  }

  /** Prints a note, which is not part of the log. */
  note(text: string): void {
    if (this.#options.step === undefined) this.#writer.line(text)
  }

  /** Returns the last shown lines of a step. */
  lastLines(step: string): readonly string[] {
    return this.#streams.get(STEP_PREFIX + step)?.last ?? []
  }

  /** The step whose lines were printed last. */
  get openStep(): string | undefined {
    return this.#open
  }

  /** Flushes incomplete lines and removes the status line. */
  [Symbol.dispose](): void {
    for (const name of this.#streams.keys()) this.#flush(name)
    this.#writer[Symbol.dispose]()
  }

  #showEvent(item: ViewItem & { kind: 'event' }): void {
    const step = textField(item.data, 'step')
    switch (item.type) {
      case 'attempt.started':
        return this.#attemptStarted(item.attempt)
      case 'step.started':
        return step === undefined ? undefined : this.#stepStarted(step, item.at)
      case 'step.finished':
        return step === undefined ? undefined : this.#stepFinished(step, item)
      case 'step.waiting':
        return this.#stepWaiting(step ?? '', item.data)
      case 'step.decided':
        return step === undefined ? undefined : this.#stepDecided(step, item.data)
      case 'build.waiting':
      case 'attempt.waiting':
        return isPassing(item.data) ? undefined : this.#waiting(describeOutcome(item.data))
      case 'build.decided':
        return this.#stepDecided('the build', item.data)
      case 'attempt.lost':
        return this.#attemptLost(item)
      case 'log.incomplete':
        return this.#incomplete(item.data)
      case 'notice':
        return this.#notice(item.data)
      default:
        return undefined
    }
  }

  #stepWaiting(step: string, data: Readonly<Record<string, unknown>>): void {
    const { buildId } = this.#options
    // A terminal may be attached to a held step from here on, and a local run prompts for an approval: the status line must not draw over either.
    const isQuiet = textField(data, 'phase') !== undefined || buildId === undefined
    this.#writer.setStatus(isQuiet ? undefined : `${step} waits: ${textField(data, 'reason') ?? ''}`)
    const text = describeStepWait(step, data, buildId)
    if (text !== undefined) this.note(this.#style.yellow(text))
  }

  /** The build and its attempt may wait for the same reason, which is shown once. */
  #waiting(why: string): void {
    if (why === this.#waitsFor) return
    this.#waitsFor = why
    this.note(this.#style.yellow(`… waiting: ${why}`))
  }

  /** Prints the unfinished lines of the steps, and forgets these steps. */
  #endOutput(): void {
    for (const name of this.#streams.keys()) this.#flush(name)
    this.#running.clear()
    this.#groups.clear()
    this.#updateStatus()
  }

  /** Prints unfinished lines of a lost attempt before the note about the loss. */
  #attemptLost({ attempt, data }: ViewItem & { kind: 'event' }): void {
    this.#endOutput()
    this.note(this.#style.yellow(`! attempt ${attempt} was lost: ${describeOutcome(data)}`))
  }

  #attemptStarted(attempt: number): void {
    this.#waitsFor = undefined
    if (attempt > 1 && attempt !== this.#attempt) {
      this.#endOutput()
      this.#open = undefined
      this.#writer.title(this.#style.yellow(`↻ attempt ${attempt}`))
    }
    this.#attempt = attempt
    this.wait('starting')
  }

  #stepStarted(step: string, at: number): void {
    if (this.#options.isGroup?.(step) === true) return this.#groupStarted(step, at)
    const isRepeat = this.#running.has(step)
    this.#running.set(step, at)
    this.#updateStatus()
    if (isRepeat || this.#options.step !== undefined) return
    if (this.#running.size === 1) this.#open = step
    const title = this.#options.titleOf?.(step) ?? step
    const isPlain = title === step || step.endsWith(`.${title}`)
    this.#writer.heading(this.#style.bold(`${markOf('running')} ${step}`) + (isPlain ? '' : this.#style.dim(`  ${title}`)))
  }

  /** Shows only the name of a group; its result follows when it ends. */
  #groupStarted(step: string, at: number): void {
    this.#groups.set(step, at)
    if (this.#options.step === undefined) this.#writer.heading(this.#style.dim(`${markOf('running')} ${step}`))
  }

  #stepFinished(step: string, item: ViewItem & { kind: 'event' }): void {
    this.#flush(STEP_PREFIX + step)
    const since = this.#running.get(step) ?? this.#groups.get(step)
    this.#running.delete(step)
    this.#updateStatus()
    if (this.#options.step !== undefined) return
    const status = textField(item.data, 'status') ?? 'success'
    const text = this.#isShownAbove(step, describeOutcome(item.data)) ? '' : describeOutcome(item.data)
    const line = describeResult(step, { status, text, durationMs: since === undefined ? undefined : item.at - since })
    if (status === 'skipped' && since === undefined) this.#writer.skipped(line)
    else this.#writer.line(paintStatus(this.#style, status, line))
  }

  /** Returns true if the line above is the engine's line with this message. */
  #isShownAbove(step: string, message: string): boolean {
    const last = this.#streams.get(STEP_PREFIX + step)?.last.at(-1) ?? ''
    return step === this.#open && message !== '' && last.startsWith(`${SYSTEM_MARK} ${message.slice(0, KEPT_LINE_CHARS / 2)}`)
  }

  #stepDecided(step: string, data: Readonly<Record<string, unknown>>): void {
    this.#running.delete(step)
    this.#updateStatus()
    const { status, line } = describeDecision(step, data)
    if (this.#options.step === undefined) this.#writer.line(paintStatus(this.#style, status, line))
  }

  #notice(data: Readonly<Record<string, unknown>>): void {
    const message = textField(data, 'message') ?? ''
    const step = textField(data, 'step')
    const text = step === undefined || step === this.#open ? message : `${step}: ${message}`
    this.note(data['level'] === 'warning' ? this.#style.yellow(`! ${text}`) : this.#style.dim(text))
  }

  /** Shows that part of a log is missing; with a single step only if it concerns that step. */
  #incomplete(data: Readonly<Record<string, unknown>>): void {
    const step = textField(data, 'step')
    if (this.#options.step !== undefined && this.#options.step !== step) return
    if (step !== undefined) this.#flush(STEP_PREFIX + step)
    const isPlain = step === undefined || this.#options.step !== undefined || step === this.#open
    const text = `${isPlain ? '' : `${step}: `}${textField(data, 'message') ?? ''}`
    this.#writer.line(this.#style.yellow(`! ${text}`))
  }

  #updateStatus(): void {
    const names = [...this.#running.keys()]
    this.#writer.setStatus(names.length === 0 ? undefined : names.join(', '))
  }

  #showBytes(name: string, bytes: Uint8Array, at: number): void {
    const stream = this.#streams.get(name) ?? { lines: lineSplitter(), last: [], at }
    this.#streams.set(name, stream)
    stream.at = at
    if (this.#passesWhole(name)) return this.#showWhole(stream, stream.lines.pushWhole(bytes))
    for (const line of stream.lines.push(bytes)) this.#showLine(name, stream, line)
  }

  /** Returns true if lines without prefix can be written in bulk to a pipe, which keeps steps with millions of lines fast. */
  #passesWhole(name: string): boolean {
    const { terminal, timestamps, step } = this.#options
    if (terminal.isTTY || timestamps === true || terminal.takesLines === true) return false
    return step === undefined ? name === STEP_PREFIX + String(this.#open) && this.#running.size <= 1 : name === STEP_PREFIX + step
  }

  #showWhole(stream: Stream, lines: Buffer | undefined): void {
    if (lines === undefined) return
    const end = lines
      .subarray(-KEPT_LINES * KEPT_LINE_CHARS)
      .toString()
      .trimEnd()
      .split('\n')
    stream.last = [...stream.last, ...end].slice(-KEPT_LINES)
    this.#writer.whole(lines)
  }

  #flush(name: string): void {
    const stream = this.#streams.get(name)
    const rest = stream?.lines.flush()
    if (stream !== undefined && rest !== undefined) this.#showLine(name, stream, rest)
  }

  #showLine(name: string, stream: Stream, line: Buffer): void {
    const step = name.startsWith(STEP_PREFIX) ? name.slice(STEP_PREFIX.length) : undefined
    if (this.#options.step !== undefined && step !== this.#options.step) return
    stream.last.push(line.subarray(0, KEPT_LINE_CHARS).toString())
    if (stream.last.length > KEPT_LINES) stream.last.shift()
    this.#writer.output(this.#prefix(step, stream.at), line)
  }

  /** Returns the prefix of a line; empty if its step is clear from the context. */
  #prefix(step: string | undefined, at: number): string {
    const time = this.#options.timestamps === true ? `${formatTime(at)} ` : ''
    // After several steps ran at the same time, the remaining ones keep their prefixes.
    if (this.#running.size > 1) this.#open = undefined
    const isPlain = step === undefined || this.#options.step !== undefined || step === this.#open
    return this.#style.dim(time) + (isPlain ? '' : this.#style.cyan(`${step} | `))
  }

  get #style(): Terminal['style'] {
    return this.#options.terminal.style
  }
}
