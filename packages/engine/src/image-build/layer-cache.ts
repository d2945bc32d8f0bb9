/** Counts the cached steps of a Dockerfile from the output of BuildKit (plain and rawjson) or the classic builder. */
import { parseJson } from '@windlass/kit'
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
const MAX_LINE_CHARS = 65_536
const MAX_OBJECT_CHARS = 4_194_304

export class LayerCacheCounter {
  /** Vertex -> whether it was cached. */
  readonly #steps = new Map<string, boolean>()
  #rest = ''
  #classic = 0
  /** The start of an incomplete object. */
  #object: string | undefined

  push(bytes: Uint8Array): void {
    const lines = (this.#rest + Buffer.from(bytes).toString('utf8')).split('\n')
    this.#rest = (lines.pop() ?? '').slice(0, MAX_LINE_CHARS)
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

  /** Reads an object on one line, or over several lines between an unindented `{` and `}`. */
  #readRaw(line: string): void {
    if (this.#object === undefined && !line.startsWith('{')) return
    const text: string = (this.#object ?? '') + line
    const isOpen = !line.endsWith('}') || line.startsWith(' ')
    this.#object = isOpen && text.length < MAX_OBJECT_CHARS ? text : undefined
    if (isOpen) return
    const parsed = RawLine.safeParse(parseJson(text))
    for (const { digest, name = '', cached, completed } of parsed.data?.vertexes ?? [])
      if (VERTEX.test(name) && completed !== undefined) this.#note(digest, cached ?? false)
  }

  #note(step: string, isHit: boolean): void {
    this.#steps.set(step, isHit || (this.#steps.get(step) ?? false))
  }
}
