/**
 * Replaces secrets in a stream of bytes. An Aho-Corasick automaton reads each byte about once for any number of secrets and keeps its state between
 * chunks. Only bytes that may be the start of a secret are held back. At least 100 MB/s.
 */

import { buildPrefilter, type Prefilter } from './prefilter.ts'

/** The replacement of a secret. Overlapping secrets get one. */
export const MASK = Buffer.from('*****')
const EMPTY = Buffer.alloc(0)

/** A trie in arrays with one entry per state. State 0 is the root. A dense table for 600,000 states would take 600 MB. */
export interface Automaton {
  readonly root: Int32Array
  readonly firstChild: Int32Array
  readonly sibling: Int32Array
  readonly byte: Uint8Array
  readonly fail: Int32Array
  readonly depth: Int32Array
  /** Length of the longest pattern that ends here, or 0. */
  readonly match: Int32Array
  /** Detects quickly that a text contains no pattern. */
  readonly prefilter: Prefilter
}

/** Builds the automaton for these patterns. Returns undefined if there are none. */
export function buildAutomaton(patterns: readonly Uint8Array[]): Automaton | undefined {
  if (patterns.length === 0) return undefined
  const size = patterns.reduce((sum, { length }) => sum + length, 1)
  const trie: Automaton = {
    root: new Int32Array(256),
    firstChild: new Int32Array(size),
    sibling: new Int32Array(size),
    byte: new Uint8Array(size),
    fail: new Int32Array(size),
    depth: new Int32Array(size),
    match: new Int32Array(size),
    prefilter: buildPrefilter(patterns),
  }
  let states = 1
  for (const pattern of patterns) {
    let state = 0
    for (const byte of pattern) state = childOf(trie, state, byte) || addChild(trie, { parent: state, byte, state: states++ })
    trie.match[state] = pattern.length
  }
  link(trie, states)
  return trie
}

function addChild(trie: Automaton, { parent, byte, state }: { parent: number; byte: number; state: number }): number {
  trie.byte[state] = byte
  trie.depth[state] = at(trie.depth, parent) + 1
  trie.sibling[state] = at(trie.firstChild, parent)
  trie.firstChild[parent] = state
  if (parent === 0) trie.root[byte] = state
  return state
}

/** Sets the fail links, breadth first: the fail link of a state leads to its longest proper suffix that is the prefix of a pattern. */
function link(trie: Automaton, states: number): void {
  const queue = new Int32Array(states)
  let end = 1
  for (let next = 0; next < end; next += 1) {
    const state = at(queue, next)
    for (let child = at(trie.firstChild, state); child !== 0; child = at(trie.sibling, child)) {
      const fail = state === 0 ? 0 : step(trie, at(trie.fail, state), at(trie.byte, child))
      trie.fail[child] = fail
      trie.match[child] = Math.max(at(trie.match, child), at(trie.match, fail))
      queue[end++] = child
    }
  }
}

function childOf(trie: Automaton, state: number, byte: number): number {
  if (state === 0) return at(trie.root, byte)
  let child = at(trie.firstChild, state)
  while (child !== 0 && trie.byte[child] !== byte) child = at(trie.sibling, child)
  return child
}

function step(trie: Automaton, from: number, byte: number): number {
  let state = from
  for (;;) {
    const child = childOf(trie, state, byte)
    if (child !== 0 || state === 0) return child
    state = at(trie.fail, state)
  }
}

/** Reads an element. The indices come from the trie, so no element is ever missing. */
function at(list: Int32Array | Uint8Array, index: number): number {
  return list[index] ?? 0
}

/** Returns how many of the last bytes may be the start of an incomplete secret. Complete patterns that start no longer one do not count. */
function openDepth(trie: Automaton, from: number): number {
  let state = from
  while (state !== 0 && at(trie.firstChild, state) === 0) state = at(trie.fail, state)
  return at(trie.depth, state)
}

interface Span {
  start: number
  readonly end: number
  /** True if its mask was output with an earlier chunk. */
  shown: boolean
}

/** Masks one stream. `push` returns the bytes that are safe to show. The start of a possible secret is held back until more bytes or `end` follow. */
export class Masker {
  readonly #trie: Automaton | undefined
  readonly #mask: Buffer
  #state = 0
  #held = EMPTY
  /** Number of bytes of `#held` that were output early. */
  #early = 0
  /** Secrets found in `#held`, or whose end is in it. */
  #spans: Span[] = []

  /** `mask` replaces each secret. */
  constructor(trie: Automaton | undefined, mask: Buffer = MASK) {
    this.#trie = trie
    this.#mask = mask
  }

  push(bytes: Buffer): Buffer {
    if (this.#trie === undefined) return bytes
    const text = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    const spans = this.#canSkip(this.#trie, text) ? this.#skip(this.#trie, text) : this.#scan(this.#trie, text, this.#held.length)
    const safe = text.length - openDepth(this.#trie, this.#state)
    return this.#give(text, spans, safe)
  }

  /** True while bytes are held back. */
  get isHolding(): boolean {
    return this.#held.length > this.#early
  }

  /** Outputs the first `most` bytes of those held back, although they may start a secret. The rest of the secret is still masked. */
  showHeld(most: number): Buffer {
    if (this.#spans.length > 0) return EMPTY
    const shown = this.#held.subarray(this.#early, most)
    this.#early += shown.length
    return shown
  }

  /** Ends the stream. Returns the bytes that were held back. */
  end(): Buffer {
    const rest = this.#give(this.#held, this.#spans, this.#held.length)
    this.#state = 0
    return rest
  }

  /** Returns true if the whole text contains no secret. Only worth checking for texts much longer than the longest secret. */
  #canSkip({ prefilter }: Automaton, text: Buffer): boolean {
    return this.#spans.length === 0 && text.length > prefilter.longest * 4 && !prefilter.mayMatch(text)
  }

  /** Computes the state after a text, which depends only on its last bytes: as many as the longest secret has. */
  #skip(trie: Automaton, text: Buffer): Span[] {
    let state = 0
    for (let index = text.length - trie.prefilter.longest; index < text.length; index += 1)
      state = step(trie, state, text[index] ?? 0)
    this.#state = state
    return this.#spans
  }

  #scan(trie: Automaton, text: Buffer, from: number): Span[] {
    const spans = this.#spans
    const { root, match } = trie
    let state = this.#state
    for (let index = from; index < text.length; index += 1) {
      const byte = text[index] ?? 0
      state = state === 0 ? (root[byte] ?? 0) : step(trie, state, byte)
      const length = state === 0 ? 0 : (match[state] ?? 0)
      if (length > 0) addSpan(spans, { start: index + 1 - length, end: index + 1, shown: false })
    }
    this.#state = state
    return spans
  }

  #give(text: Buffer, spans: readonly Span[], safe: number): Buffer {
    const parts: Buffer[] = []
    let position = Math.min(this.#early, safe)
    for (const { start, end, shown } of spans) {
      if (start >= safe) break
      if (start > position) parts.push(text.subarray(position, start))
      if (!shown) parts.push(this.#mask)
      position = end
    }
    if (position < safe) parts.push(text.subarray(position, safe))
    this.#early = Math.max(0, this.#early - safe)
    this.#spans = spans
      .filter(({ end }) => end > safe)
      .map(({ start, end, shown }) => ({ start: Math.max(0, start - safe), end: end - safe, shown: shown || start < safe }))
    this.#held = safe === text.length ? EMPTY : Buffer.from(text.subarray(safe))
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }
}

/** Merges the span with those that it overlaps. Spans are added in the order of their ends. */
function addSpan(spans: Span[], span: Span): void {
  let last = spans.at(-1)
  while (last !== undefined && last.end > span.start) {
    span.start = Math.min(span.start, last.start)
    span.shown ||= last.shown
    spans.pop()
    last = spans.at(-1)
  }
  spans.push(span)
}

/** Masks a complete text. */
export function maskText(trie: Automaton | undefined, text: string): string {
  const masker = new Masker(trie)
  return Buffer.concat([masker.push(Buffer.from(text)), masker.end()]).toString('utf8')
}
