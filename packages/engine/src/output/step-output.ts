/** The output of a step: masked, limited, and spooled. One per step. The engine's own lines go to the same stream. */
import type { StreamWriter } from '@windlass/journal'
import type { OutputPart } from '../docker/demux.ts'
import { buildAutomaton, Masker, maskText, type Automaton } from './mask.ts'
import { secretForms } from './secret-forms.ts'

export interface StepOutput {
  /** Takes output of a container. Waits while the spool is full. Rejects with the reason of `signal`. */
  write(parts: readonly OutputPart[], signal?: AbortSignal): Promise<void>
  /** Writes a line of the engine. */
  say(line: string): Promise<void>
  /** Returns a text with the secrets of this output masked. */
  redact(text: string): string
  /** Masks these values too from now on. */
  hide(values: readonly string[]): void
  /** Writes the bytes that were held back. The container has ended. */
  end(): Promise<void>
}

/** Bytes that the attempt may still write. Shared by all its streams. */
export interface Allowance {
  left: number
}

/** Prefix of the engine's own lines. */
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
  // One masker per output: a secret printed in two chunks must be masked even if the other output prints something in between.
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
    const line = `${PREFIX}The log limit of ${whose} is reached. Further output is discarded.\n`
    await stream.write(Buffer.from(atLineStart ? line : `\n${line}`))
  }

  const redact = (text: string): string => maskText(more, maskText(options.secrets, text))

  return {
    async write(parts, signal) {
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
