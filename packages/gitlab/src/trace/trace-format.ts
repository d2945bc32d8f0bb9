/**
 * Turns the output of a job into the bytes of its trace: masked, with times, and cut at the limit. The bytes depend only on the output and the options, so a
 * manager that adopts a job makes the same trace again. Rules of the trace of GitLab: masked variables, then URLs, then tokens, then times, then the limit.
 */
import { isUtf8 } from 'node:buffer'
import { buildAutomaton, Masker } from '@windlass/engine/mask'
import { MASKED, tokenValues, URL_VALUES, ValueMasker } from './mask-values.ts'

/** Where output comes from. GitLab shows the number in two hexadecimal digits. */
export const STREAMS = { executor: 0, work: 1, firstService: 15 } as const

export interface Output {
  readonly stream: number
  readonly isError?: boolean
  /** Microseconds since the epoch. */
  readonly at: number
  readonly bytes: Buffer
}

export interface TraceFormatOptions {
  /** Values of masked variables. */
  readonly masked: readonly string[]
  /** `features.token_mask_prefixes` of the job. */
  readonly tokenPrefixes: readonly string[]
  /** `FF_MASK_ALL_DEFAULT_TOKENS`. Default: true. */
  readonly masksAllTokens?: boolean
  /** `FF_TIMESTAMPS`. Default: true. */
  readonly hasTimes?: boolean
  /** `output_limit` of the runner. Bytes. */
  readonly limit: number
}

export interface TraceFormat {
  /** Returns the bytes that the output adds to the trace. Those of an unfinished line come later. */
  write(output: Output): Buffer
  /** Ends the trace. Returns its last bytes. */
  end(): Buffer
}

/** Longest part of a line that waits for its end. Bytes. */
const MAX_PENDING = 8_192
const EMPTY = Buffer.alloc(0)

/** Opens the format of one trace. */
export function openTraceFormat(options: TraceFormatOptions): TraceFormat {
  const { hasTimes = true, limit } = options
  const automaton = buildAutomaton(options.masked.filter((value) => value !== '').map((value) => Buffer.from(value)))
  const tokens = tokenValues(options.tokenPrefixes, options.masksAllTokens)
  /** By their name in the trace, in the order of their first output. */
  const channels = new Map<string, Channel>()
  let size = 0
  let isFull = false

  /** Lets bytes pass until the limit is reached, and says so once. */
  function limited(parts: readonly Buffer[]): Buffer {
    if (isFull) return EMPTY
    const bytes = Buffer.concat(parts)
    if (size + bytes.length <= limit) {
      size += bytes.length
      return bytes
    }
    isFull = true
    return Buffer.concat([wholeCharacters(bytes.subarray(0, limit - size)), Buffer.from(fullNotice(limit))])
  }

  return {
    write({ stream, isError = false, at, bytes }) {
      const name = `${stream.toString(16).padStart(2, '0')}${isError ? 'E' : 'O'}`
      const channel =
        channels.get(name) ??
        new Channel(name, [new Masker(automaton, Buffer.from(MASKED)), new ValueMasker(URL_VALUES), new ValueMasker(tokens)])
      channels.set(name, channel)
      return limited(hasTimes ? channel.lines(at, channel.mask(bytes)) : [readable(channel.mask(bytes))])
    },
    end() {
      const rest = [...channels.values()].flatMap((channel) => {
        const bytes = channel.endMasks()
        return hasTimes ? channel.endLines(bytes) : [readable(bytes)]
      })
      return limited(rest)
    },
  }
}

interface Mask {
  push(bytes: Buffer): Buffer
  end(): Buffer
}

/** The output of one stream. */
class Channel {
  readonly #name: string
  readonly #masks: readonly Mask[]
  /** The unfinished line, and the time of its first bytes. */
  #pending = EMPTY
  #at = 0
  /** True if the next part continues the line of the last one. */
  #continues = false

  constructor(name: string, masks: readonly Mask[]) {
    this.#name = name
    this.#masks = masks
  }

  mask(bytes: Buffer): Buffer {
    return this.#masks.reduce((text, mask) => mask.push(text), bytes)
  }

  endMasks(): Buffer {
    let bytes = EMPTY
    for (const mask of this.#masks) bytes = Buffer.concat([mask.push(bytes), mask.end()])
    return bytes
  }

  /** Returns the finished lines, each with its time. A part that ends with a carriage return is finished too, because it shows progress. */
  lines(at: number, bytes: Buffer): Buffer[] {
    if (this.#pending.length === 0) this.#at = at
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    const parts: Buffer[] = []
    for (let end = endOfPart(rest); end > 0; end = endOfPart(rest)) {
      parts.push(...this.#part(rest.subarray(0, end)))
      rest = rest.subarray(end)
      this.#at = at
    }
    this.#pending = Buffer.from(rest)
    return parts
  }

  endLines(bytes: Buffer): Buffer[] {
    const parts = this.lines(this.#at, bytes)
    if (this.#pending.length > 0) parts.push(...this.#part(this.#pending))
    this.#pending = EMPTY
    return parts
  }

  #part(bytes: Buffer): Buffer[] {
    const isWhole = bytes.at(-1) === LF
    const head = `${isoMicros(this.#at)} ${this.#name}${this.#continues ? '+' : ' '}`
    this.#continues = !isWhole
    return [Buffer.from(head), readable(bytes), ...(isWhole ? [] : [NEWLINE])]
  }
}

const LF = 0x0a
const CR = 0x0d
const NEWLINE = Buffer.from('\n')

/** Returns where the first part of the bytes ends: behind a line feed, behind a carriage return that is not that of a line end, or at the longest length. 0 without one. */
function endOfPart(bytes: Buffer): number {
  const window = bytes.subarray(0, MAX_PENDING)
  const feed = window.indexOf(LF)
  const line = feed < 0 ? window : window.subarray(0, feed + 1)
  const back = line.indexOf(CR)
  // The line feed of a line end may come with the next bytes.
  if (back >= 0 && back + 1 < line.length && line[back + 1] !== LF) return back + 1
  if (feed >= 0) return feed + 1
  return window.length === MAX_PENDING ? wholeCharacters(window).length : 0
}

/** Cuts a character of UTF-8 that is not complete from the end. */
function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return bytes
    if (byte >= 0xc0) return back < lengthOf(byte) ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}

function lengthOf(first: number): number {
  if (first >= 0xf0) return 4
  return first >= 0xe0 ? 3 : 2
}

/** Replaces what is not UTF-8. */
function readable(bytes: Buffer): Buffer {
  return isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('utf8'))
}

/** Formats a time with microseconds: `2026-01-31T12:00:00.000000Z`. */
function isoMicros(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000)
  const fraction = String(Math.floor(micros - seconds * 1_000_000)).padStart(6, '0')
  return `${new Date(seconds * 1_000).toISOString().slice(0, 19)}.${fraction}Z`
}

function fullNotice(limit: number): string {
  return (
    `\n\u001B[33;1mJob's log exceeded limit of ${limit} bytes.\n` +
    'Job execution will continue but no more output will be collected.\u001B[0;m\n'
  )
}
