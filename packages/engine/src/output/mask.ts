/**
 * Replaces secrets in a stream of bytes. An automaton (Aho-Corasick) looks at each byte about once, whatever the number of secrets, and
 * keeps its place between pieces; only bytes that may be the beginning of a secret are held back. 100 MB/s and more.
 */

import { buildPrefilter, type Prefilter } from './prefilter.ts'

/** What stands in the place of a secret. Secrets that overlap give one. */
export const MASK = Buffer.from('*****')
const EMPTY = Buffer.alloc(0)

/** A trie as arrays, one entry per state; state 0 is the root. A dense table of 600,000 states would take 600 MB. */
export interface Automaton {
  readonly root: Int32Array
  readonly firstChild: Int32Array
  readonly sibling: Int32Array
  readonly byte: Uint8Array
  readonly fail: Int32Array
  readonly depth: Int32Array
  /** Length of the longest pattern that ends here; 0 when none does. */
  readonly match: Int32Array
  /** Finds out fast that there is nothing to find. */
  readonly prefilter: Prefilter
}

/** Builds the automaton for these patterns; undefined when there are none. */
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

/** Breadth first: the fail link of a state leads to the longest other beginning of a pattern that it ends with. */
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

/** All indices come from the trie itself, so that nothing is ever missing. */
function at(list: Int32Array | Uint8Array, index: number): number {
  return list[index] ?? 0
}

/** How many of the last bytes may be the beginning of a secret that goes on. A pattern that is complete and begins no longer one is not open. */
function openDepth(trie: Automaton, from: number): number {
  let state = from
  while (state !== 0 && at(trie.firstChild, state) === 0) state = at(trie.fail, state)
  return at(trie.depth, state)
}

interface Span {
  start: number
  readonly end: number
  /** True when the mask for it was given out with an earlier piece. */
  shown: boolean
}

/** Masks one stream. `push` gives what is safe to show; a beginning of a secret waits, however long, for what follows it or for `end`. */
export class Masker {
  readonly #trie: Automaton | undefined
  #state = 0
  #held = EMPTY
  /** How much of `#held` was given out before its time. */
  #early = 0
  /** Secrets found in `#held`, or of which the end is in it. */
  #spans: Span[] = []

  constructor(trie: Automaton | undefined) {
    this.#trie = trie
  }

  push(bytes: Buffer): Buffer {
    if (this.#trie === undefined) return bytes
    const text = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    const spans = this.#canSkip(this.#trie, text) ? this.#skip(this.#trie, text) : this.#scan(this.#trie, text, this.#held.length)
    const safe = text.length - openDepth(this.#trie, this.#state)
    return this.#give(text, spans, safe)
  }

  /** True while bytes wait for what follows them. */
  get isHolding(): boolean {
    return this.#held.length > this.#early
  }

  /** Gives out the first `most` bytes of what is held back, though they may be the beginning of a secret; the rest of it is masked still. */
  showHeld(most: number): Buffer {
    if (this.#spans.length > 0) return EMPTY
    const shown = this.#held.subarray(this.#early, most)
    this.#early += shown.length
    return shown
  }

  /** What was held back; the stream is over. */
  end(): Buffer {
    const rest = this.#give(this.#held, this.#spans, this.#held.length)
    this.#state = 0
    return rest
  }

  /** True when no secret lies in the text as a whole. Worth a look only where what is looked at instead is much less. */
  #canSkip({ prefilter }: Automaton, text: Buffer): boolean {
    return this.#spans.length === 0 && text.length > prefilter.longest * 4 && !prefilter.mayMatch(text)
  }

  /** The state behind a text depends on its last bytes alone: as many as the longest secret has. */
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
      if (!shown) parts.push(MASK)
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

/** Joins the span with those that it overlaps. Spans come in the order of their ends. */
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

/** Masks a whole text. */
export function maskText(trie: Automaton | undefined, text: string): string {
  const masker = new Masker(trie)
  return Buffer.concat([masker.push(Buffer.from(text)), masker.end()]).toString('utf8')
}
