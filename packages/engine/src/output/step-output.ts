/** What a step says: masked, limited, and spooled. One per step and try; the engine's own lines go to the same stream. */
import type { StreamWriter } from '@windlass/journal'
import type { OutputPart } from '../docker/demux.ts'
import { buildAutomaton, Masker, maskText, type Automaton } from './mask.ts'
import { secretForms } from './secret-forms.ts'

export interface StepOutput {
  /** Takes output of a container. Waits while the spool is full; rejects with the reason of `signal`. */
  write(parts: readonly OutputPart[], signal?: AbortSignal): Promise<void>
  /** A line of the engine's own. */
  say(line: string): Promise<void>
  /** A text with the secrets of this output masked. */
  redact(text: string): string
  /** From here on these values are masked too. */
  hide(values: readonly string[]): void
  /** Gives out what was held back; the container is gone. */
  end(): Promise<void>
}

/** Bytes that a whole attempt may still write; shared by all its streams. */
export interface Allowance {
  left: number
}

/** Stands before the engine's own lines. */
const PREFIX = '[SYSTEM] '
const NEWLINE = 10

export interface StepOutputOptions {
  readonly stream: StreamWriter
  readonly secrets: Automaton | undefined
  readonly limitBytes: number
  readonly allowance: Allowance
}

export function openStepOutput(options: StepOutputOptions): StepOutput {
  const { stream, allowance } = options
  let more: Automaton | undefined
  const hidden = new Set<string>()
  // Two maskers: a secret that one output prints in two pieces must not show because the other one said something in between.
  const maskers = { 1: new Masker(options.secrets), 2: new Masker(options.secrets) }
  let further = { 1: new Masker(undefined), 2: new Masker(undefined) }
  let left = options.limitBytes
  let isCut = false
  let atLineStart = true

  async function put(bytes: Buffer, signal?: AbortSignal): Promise<void> {
    if (bytes.length === 0 || isCut) return
    const room = Math.min(left, allowance.left)
    const part = bytes.length > room ? bytes.subarray(0, room) : bytes
    left -= part.length
    allowance.left -= part.length
    atLineStart = part.length === 0 ? atLineStart : part.at(-1) === NEWLINE
    await stream.write(part, signal)
    if (part.length < bytes.length) await cut()
  }

  async function cut(): Promise<void> {
    isCut = true
    const whose = left <= 0 ? 'this step' : 'the build'
    const line = `${PREFIX}The log limit of ${whose} is reached: further output is not kept.\n`
    await stream.write(Buffer.from(atLineStart ? line : `\n${line}`))
  }

  const redact = (text: string): string => maskText(more, maskText(options.secrets, text))

  return {
    async write(parts, signal) {
      // One after the other as they lie in memory: to join them would copy every byte once more.
      for (const { source, bytes } of parts) await put(further[source].push(maskers[source].push(bytes)), signal)
    },
    redact,
    async say(line) {
      const text = redact(`${PREFIX}${line}\n`)
      await put(Buffer.from(atLineStart ? text : `\n${text}`))
    },
    hide(values) {
      for (const value of values) hidden.add(value)
      more = buildAutomaton(secretForms(hidden))
      further = { 1: new Masker(more), 2: new Masker(more) }
    },
    async end() {
      for (const source of [1, 2] as const)
        await put(Buffer.concat([further[source].push(maskers[source].end()), further[source].end()]))
    },
  }
}
