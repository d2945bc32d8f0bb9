/**
 * Hides secrets in output before anything is written to a disk: the value itself, each line of a value of several lines, and their base64
 * and URL-encoded forms, also where a chunk border cuts them. An Aho-Corasick automaton over bytes, so cost does not grow with the number of
 * secrets. Not here: which variables are secret.
 */

/** Shorter values are not masked: they would blot out ordinary text. */
export const SHORTEST_SECRET = 3

const STARS = Buffer.from('****')

export interface MaskStream {
  /** The part of the output so far that is certain; what may be the beginning of a secret is held back. */
  write(chunk: Uint8Array): Buffer
  /** The rest, once nothing more can come. */
  end(): Buffer
}

export interface Mask {
  /** Opens one stream of output; several may be open at once. */
  stream(): MaskStream
  /** Masks a whole text, such as a message. */
  text(text: string): string
}

/** Builds the automaton for all forms of `secrets`. */
export function compileMask(secrets: Iterable<string>): Mask {
  const patterns = new Set<string>()
  for (const secret of secrets) for (const form of formsOf(secret)) patterns.add(form)
  const automaton = patterns.size === 0 ? undefined : new Automaton([...patterns].map((form) => Buffer.from(form, 'latin1')))
  const stream = (): MaskStream => (automaton === undefined ? passThrough : new Masking(automaton))
  return {
    stream,
    text(text) {
      const masking = stream()
      return Buffer.concat([masking.write(Buffer.from(text)), masking.end()]).toString()
    },
  }
}

const passThrough: MaskStream = {
  write: (chunk) => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength),
  end: () => Buffer.alloc(0),
}

/** Every form in which a secret may show, as latin1 strings of bytes. */
export function formsOf(secret: string): string[] {
  const lines = secret.split(/\r?\n/)
  const values = new Set([secret, secret.trim(), ...lines, ...lines.map((line) => line.trim())])
  const forms = new Set<string>()
  for (const value of values) {
    if (value.length < SHORTEST_SECRET) continue
    const bytes = Buffer.from(value)
    forms.add(bytes.toString('latin1'))
    for (const form of [...base64Forms(bytes), ...urlForms(value)]) if (form.length >= SHORTEST_SECRET) forms.add(form)
  }
  return [...forms]
}

/**
 * Base64 of the bytes at each of the three places in which they may stand in a longer text. Characters that also depend on the neighbours are
 * left off; what remains is cut where it would be too short to tell from ordinary text.
 */
function base64Forms(bytes: Buffer): string[] {
  const forms: string[] = [bytes.toString('base64'), bytes.toString('base64url')]
  for (const shift of [0, 1, 2]) {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const first = shift === 0 ? 0 : shift + 1
    const last = Math.floor(((shift + bytes.length) * 8) / 6)
    const core = text.slice(first, last)
    if (core.length >= 4) forms.push(core, core.replaceAll('+', '-').replaceAll('/', '_'))
  }
  return forms
}

function urlForms(value: string): string[] {
  const encoded = encode(value)
  const strict = encoded.replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
  const forms = [encoded, strict, strict.replaceAll('%20', '+')]
  return [...forms, ...forms.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()))]
}

/** A lone surrogate cannot be URL-encoded; its replacement is what any encoder would send. */
function encode(value: string): string {
  return encodeURIComponent(value.toWellFormed())
}

/** States are numbered; `next` is a dense table over the classes of bytes that occur in patterns (class 0: any other byte). */
class Automaton {
  readonly classOf = new Uint8Array(256)
  readonly classes: number
  readonly next: Int32Array
  /** Length of the text that a state stands for: how much may still become part of a match. */
  readonly depth: Int32Array
  /** Longest pattern that ends in a state, 0 for none. */
  readonly match: Int32Array

  constructor(patterns: readonly Buffer[]) {
    const used = new Set(patterns.flatMap((pattern) => [...pattern]))
    let count = 1
    for (const byte of used) this.classOf[byte] = used.size < 256 ? count++ : byte
    this.classes = used.size < 256 ? count : 256
    const most = 1 + patterns.reduce((sum, pattern) => sum + pattern.length, 0)
    this.next = new Int32Array(most * this.classes)
    this.depth = new Int32Array(most)
    this.match = new Int32Array(most)
    this.link(this.insert(patterns))
  }

  /** Builds the trie; returns the number of states. */
  private insert(patterns: readonly Buffer[]): number {
    let states = 1
    for (const pattern of patterns) {
      let state = 0
      for (const byte of pattern) {
        const edge = state * this.classes + (this.classOf[byte] ?? 0)
        if (this.next[edge] === 0) {
          this.depth[states] = (this.depth[state] ?? 0) + 1
          this.next[edge] = states++
        }
        state = this.next[edge] ?? 0
      }
      this.match[state] = pattern.length
    }
    return states
  }

  /** Turns the trie into a complete automaton, breadth first: a missing edge goes where the longest proper suffix goes. */
  private link(states: number): void {
    const fallback = new Int32Array(states)
    const queue = [0]
    for (let head = 0; head < queue.length; head += 1) {
      const state = queue[head] ?? 0
      const suffix = fallback[state] ?? 0
      if ((this.match[state] ?? 0) === 0) this.match[state] = this.match[suffix] ?? 0
      for (let kind = 0; kind < this.classes; kind += 1) {
        const edge = state * this.classes + kind
        const child = this.next[edge] ?? 0
        const other = state === 0 ? 0 : (this.next[suffix * this.classes + kind] ?? 0)
        if (child === 0) this.next[edge] = other
        else {
          fallback[child] = other
          queue.push(child)
        }
      }
    }
  }
}

/** One open stream: bytes that are not certain yet, and the places in them that are to be hidden. */
class Masking implements MaskStream {
  private readonly automaton: Automaton
  private state = 0
  private held: Buffer = Buffer.alloc(0)
  /** Places to hide as [from, to) within the text that starts with `held`, merged and in order. */
  private hidden: [number, number][] = []

  constructor(automaton: Automaton) {
    this.automaton = automaton
  }

  write(chunk: Uint8Array): Buffer {
    const text = this.held.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.held, chunk])
    this.scan(text, this.held.length)
    return this.release(text, text.length - (this.automaton.depth[this.state] ?? 0))
  }

  end(): Buffer {
    const text = this.held
    this.state = 0
    return this.release(text, text.length)
  }

  private scan(text: Buffer, from: number): void {
    const { classOf, classes, next, match } = this.automaton
    let state = this.state
    for (let at = from; at < text.length; at += 1) {
      state = next[state * classes + (classOf[text[at] ?? 0] ?? 0)] ?? 0
      if (state === 0) continue
      const length = match[state] ?? 0
      if (length > 0) this.hide(at + 1 - length, at + 1)
    }
    this.state = state
  }

  private hide(from: number, to: number): void {
    let start = Math.max(from, 0)
    for (let last = this.hidden.at(-1); last !== undefined && last[1] > start; last = this.hidden.at(-1)) {
      start = Math.min(start, last[0])
      this.hidden.pop()
    }
    this.hidden.push([start, to])
  }

  /** Lets go what stands before `limit`, but never a part of a place to hide: that could still grow. */
  private release(text: Buffer, limit: number): Buffer {
    const open = this.hidden.findLast(([, to]) => to >= limit && limit < text.length)
    const end = open === undefined ? limit : Math.min(limit, open[0])
    const parts: Buffer[] = []
    let at = 0
    while (this.hidden[0] !== undefined && this.hidden[0][1] <= end) {
      const [from, to] = this.hidden.shift() ?? [0, 0]
      parts.push(text.subarray(at, from), STARS)
      at = to
    }
    parts.push(text.subarray(at, end))
    this.held = Buffer.from(text.subarray(end))
    this.hidden = this.hidden.map(([from, to]) => [from - end, to - end])
    return parts.length === 1 ? (parts[0] ?? STARS) : Buffer.concat(parts)
  }
}
