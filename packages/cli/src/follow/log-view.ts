/**
 * A build as a person sees it while it runs: a header per step, its lines as they come, its result and duration.
 * Lines carry the name of their step only where several steps speak at once. Not here: where the items come from (`feed.ts`, package local).
 */
import { isTerminalStream } from '@windlass/protocol'
import type { Clock } from '@windlass/kit'
import { formatDuration } from '@windlass/plan'
import { markOf, paintStatus } from '../format/style.ts'
import { formatTime } from '../format/time.ts'
import type { Terminal } from '../printer.ts'
import { lineSplitter, tameLine, type LineSplitter } from './line-splitter.ts'
import { openStatusLine, type StatusLine } from './status-line.ts'
import { describeOutcome, textField } from './wording.ts'

/** One thing to show: a fact about the build, or bytes of one of its streams. */
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
  /** Of a build of a server: people are told how to reach a step that is held. */
  readonly buildId?: string | undefined
  readonly terminal: Terminal
  readonly clock: Clock
  /** Put the time in front of each line. */
  readonly timestamps?: boolean
  /** Show the lines of this step alone, without headers. */
  readonly step?: string | undefined
  /** Title of a step; its name when it has none. */
  readonly titleOf?: (step: string) => string
  /** True for a step that only holds others: it has no lines of its own. */
  readonly isGroup?: (step: string) => boolean
}

/** How many of the last lines of each step are kept for the summary. */
const KEPT_LINES = 10
const KEPT_LINE_CHARS = 500
const STEP_PREFIX = 'step/'
/** Lines of the engine itself begin with it. */
const SYSTEM_MARK = '[SYSTEM]'

interface Stream {
  readonly lines: LineSplitter
  /** The last lines, for the summary. */
  last: string[]
  at: number
}

export class LogView implements Disposable {
  readonly #options: LogViewOptions
  readonly #status: StatusLine
  readonly #streams = new Map<string, Stream>()
  /** Running steps and when they began, epoch milliseconds. */
  readonly #running = new Map<string, number>()
  /** The same of groups. */
  readonly #groups = new Map<string, number>()
  /** The step whose header was printed last. */
  #open: string | undefined
  #attempt = 0
  #isFirst = true
  #afterSkipped = false
  #afterHeading = false

  constructor(options: LogViewOptions) {
    this.#options = options
    this.#status = openStatusLine(options.terminal, options.clock)
  }

  /** Shows one item. Items of one build come in their order; none is shown twice, so give each once. */
  show(item: ViewItem): void {
    // What terminals of the debugger have shown moves the cursor, and is no part of the log.
    if (item.kind === 'log' && isTerminalStream(item.stream)) return
    if (item.kind === 'log') this.#showBytes(item.stream, item.bytes, item.at)
    else this.#showEvent(item)
  }

  /** What the status line says while nothing runs; undefined says nothing. */
  wait(text: string | undefined): void {
    if (this.#running.size === 0) this.#status.set(text)
  }

  /** Prints a line of our own. */
  note(text: string): void {
    if (this.#options.step === undefined) this.#write(`${text}\n`)
  }

  /** The last lines that a step wrote, as far as they were shown. */
  lastLines(step: string): readonly string[] {
    return this.#streams.get(STEP_PREFIX + step)?.last ?? []
  }

  /** The step whose lines stand last on the screen. */
  get openStep(): string | undefined {
    return this.#open
  }

  /** Shows what stands after the last line end of each stream, and takes the status line away. */
  [Symbol.dispose](): void {
    for (const name of this.#streams.keys()) this.#flush(name)
    this.#status[Symbol.dispose]()
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
        return this.note(this.#style.yellow(`… waiting: ${describeOutcome(item.data)}`))
      case 'attempt.lost':
        return this.note(this.#style.yellow(`! attempt ${item.attempt} was lost: ${describeOutcome(item.data)}`))
      case 'notice':
        return this.#notice(item.data)
      default:
        return undefined
    }
  }

  #stepWaiting(step: string, data: Readonly<Record<string, unknown>>): void {
    const phase = textField(data, 'phase')
    if (phase === undefined) return this.#status.set(`${step} waits: ${textField(data, 'reason') ?? ''}`)
    // Somebody may sit at a terminal here from now on: nothing may be drawn into it.
    this.#status.set(undefined)
    const how = this.#options.buildId === undefined ? '' : `: windlass debug ${this.#options.buildId} ${step}`
    this.note(this.#style.yellow(`‖ ${step} is held by the debugger (${phase})${how}`))
  }

  #attemptStarted(attempt: number): void {
    if (attempt > 1 && attempt !== this.#attempt) {
      for (const name of this.#streams.keys()) this.#flush(name)
      this.#running.clear()
      this.#open = undefined
      this.#afterHeading = false
      this.#heading(this.#style.yellow(`↻ attempt ${attempt}`))
      this.#afterHeading = false
    }
    this.#attempt = attempt
    this.wait('starting')
  }

  #stepStarted(step: string, at: number): void {
    if (this.#options.isGroup?.(step) === true) return this.#groupStarted(step, at)
    const isRepeat = this.#running.has(step)
    this.#running.set(step, at)
    this.#say()
    if (isRepeat || this.#options.step !== undefined) return
    if (this.#running.size === 1) this.#open = step
    const title = this.#options.titleOf?.(step) ?? step
    const isPlain = title === step || step.endsWith(`.${title}`)
    this.#heading(this.#style.bold(`${markOf('running')} ${step}`) + (isPlain ? '' : this.#style.dim(`  ${title}`)))
  }

  /** Its children speak for it; its own line comes when it ends. */
  #groupStarted(step: string, at: number): void {
    this.#groups.set(step, at)
    if (this.#options.step === undefined) this.#heading(this.#style.dim(`${markOf('running')} ${step}`))
  }

  #stepFinished(step: string, item: ViewItem & { kind: 'event' }): void {
    this.#flush(STEP_PREFIX + step)
    const since = this.#running.get(step) ?? this.#groups.get(step)
    this.#running.delete(step)
    this.#say()
    if (this.#options.step !== undefined) return
    const status = textField(item.data, 'status') ?? 'success'
    const words = describeOutcome(item.data)
    const time = since === undefined ? '' : formatDuration(Math.max(0, item.at - since))
    const line = [`${markOf(status)} ${step}`, time, status === 'success' ? '' : words].filter((part) => part !== '').join('  ')
    if (status === 'skipped' && since === undefined) this.#skipped(line)
    else this.#write(`${paintStatus(this.#style, status, line)}\n`)
  }

  #stepDecided(step: string, data: Readonly<Record<string, unknown>>): void {
    this.#running.delete(step)
    this.#say()
    const decision = textField(data, 'decision') ?? ''
    const by = data['by']
    const who = typeof by === 'object' && by !== null && 'name' in by && typeof by.name === 'string' ? ` by ${by.name}` : ''
    const status = ({ approved: 'success', denied: 'error' } as Record<string, string>)[decision] ?? 'terminated'
    if (this.#options.step === undefined)
      this.#write(`${paintStatus(this.#style, status, `${markOf(status)} ${step}  ${decision}${who}`)}\n`)
  }

  /** Skipped steps stand together. */
  #skipped(line: string): void {
    if (this.#afterSkipped) this.#write(`${this.#style.dim(line)}\n`)
    else this.#heading(this.#style.dim(line))
    this.#afterSkipped = true
  }

  #notice(data: Readonly<Record<string, unknown>>): void {
    const message = textField(data, 'message') ?? ''
    const step = textField(data, 'step')
    const text = step === undefined || step === this.#open ? message : `${step}: ${message}`
    this.note(data['level'] === 'warning' ? this.#style.yellow(`! ${text}`) : this.#style.dim(text))
  }

  #say(): void {
    const names = [...this.#running.keys()]
    this.#status.set(names.length === 0 ? undefined : names.join(', '))
  }

  #showBytes(name: string, bytes: Uint8Array, at: number): void {
    const stream = this.#streams.get(name) ?? { lines: lineSplitter(), last: [], at }
    this.#streams.set(name, stream)
    stream.at = at
    if (this.#passesWhole(name)) return this.#showWhole(stream, stream.lines.pushWhole(bytes))
    for (const line of stream.lines.push(bytes)) this.#showLine(name, stream, line)
  }

  /** In a pipe, lines that need nothing in front go out together: a loud step has millions of them. */
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
    this.#isFirst = false
    this.#afterSkipped = false
    this.#afterHeading = false
    this.#status.write(lines)
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
    this.#write(this.#prefix(step, stream.at), line)
  }

  /** Empty where it is plain whose line it is. */
  #prefix(step: string | undefined, at: number): string {
    const time = this.#options.timestamps === true ? `${formatTime(at)} ` : ''
    // Once several steps have spoken at the same time, the ones that still run keep their names.
    if (this.#running.size > 1) this.#open = undefined
    const isPlain = step === undefined || this.#options.step !== undefined || step === this.#open
    return this.#style.dim(time) + (isPlain ? '' : this.#style.cyan(`${step} | `))
  }

  /** Headings that follow each other stand together. */
  #heading(line: string): void {
    const standsAlone = !this.#isFirst && !this.#afterHeading
    this.#write(standsAlone ? `\n${line}\n` : `${line}\n`)
    this.#afterHeading = true
  }

  /** In a pipe the bytes of a line go out as they came; on a terminal they may not move the cursor. */
  #write(text: string, line?: Buffer): void {
    this.#isFirst = false
    this.#afterSkipped = false
    this.#afterHeading = false
    if (line === undefined) return this.#status.write(text)
    if (this.#options.terminal.isTTY) {
      const tame = tameLine(line.toString())
      return this.#status.write(`${text}${tame.startsWith(SYSTEM_MARK) ? this.#style.dim(tame) : `${tame}\u001B[0m`}\n`)
    }
    this.#status.write(Buffer.concat([Buffer.from(text), line, Buffer.from('\n')]))
  }

  get #style(): Terminal['style'] {
    return this.#options.terminal.style
  }
}
