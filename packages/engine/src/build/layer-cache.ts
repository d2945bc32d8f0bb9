/** Counts how many steps of a Dockerfile a builder took from its cache, from what it says: BuildKit (plain and rawjson) and the classic builder. */
import { z } from 'zod'

export interface LayerCache {
  readonly hits: number
  readonly misses: number
}

/** `[2/5] RUN make`, `[build 3/4] COPY . .`, `[linux/arm64 build 1/2] FROM alpine` */
const VERTEX = /^\[(?:[^\]]* )?\d+\/\d+\] (?!FROM )/
const PLAIN = /^#(\d+) (.*)$/
const CLASSIC_STEP = /^Step \d+\/\d+ : (?!FROM )/i
const RawLine = z.looseObject({
  vertexes: z
    .array(
      z.looseObject({
        digest: z.string(),
        name: z.string().optional(),
        cached: z.boolean().optional(),
        completed: z.string().optional(),
      }),
    )
    .optional(),
})
const LONGEST_LINE = 65_536
const LONGEST_OBJECT = 4_194_304

export class LayerCacheCounter {
  /** Vertex -> whether it was found in the cache. */
  readonly #steps = new Map<string, boolean>()
  #rest = ''
  #classic = 0
  /** The beginning of an object that goes on. */
  #object: string | undefined

  push(bytes: Uint8Array): void {
    const lines = (this.#rest + Buffer.from(bytes).toString('utf8')).split('\n')
    this.#rest = (lines.pop() ?? '').slice(0, LONGEST_LINE)
    for (const line of lines) this.#read(line.trimEnd())
  }

  get result(): LayerCache {
    const found = [...this.#steps.values()]
    const hits = found.filter(Boolean).length
    return { hits, misses: found.length - hits }
  }

  #read(line: string): void {
    const plain = PLAIN.exec(line)
    if (plain?.[1] !== undefined && plain[2] !== undefined) {
      if (VERTEX.test(plain[2])) this.#note(plain[1], false)
      else if (plain[2] === 'CACHED' && this.#steps.has(plain[1])) this.#note(plain[1], true)
    } else if (CLASSIC_STEP.test(line)) {
      this.#classic += 1
      this.#note(`classic ${this.#classic}`, false)
    } else if (line.trim() === '---> Using cache') this.#note(`classic ${this.#classic}`, true)
    else this.#readRaw(line)
  }

  /** One object on a line, or spread over lines between `{` and `}` without a space in front. */
  #readRaw(line: string): void {
    if (this.#object === undefined && !line.startsWith('{')) return
    const text: string = (this.#object ?? '') + line
    const isOpen = !line.endsWith('}') || line.startsWith(' ')
    this.#object = isOpen && text.length < LONGEST_OBJECT ? text : undefined
    if (isOpen) return
    const parsed = RawLine.safeParse(parse(text))
    for (const { digest, name = '', cached, completed } of parsed.data?.vertexes ?? [])
      if (VERTEX.test(name) && completed !== undefined) this.#note(digest, cached ?? false)
  }

  #note(step: string, isHit: boolean): void {
    this.#steps.set(step, isHit || (this.#steps.get(step) ?? false))
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
