/** Names all applications in chunks. The server asks for those that it does not have, and removes those that no chunk names. */
import { randomUUID } from 'node:crypto'
import { defined } from '@windlass/kit'
import { MAX_LISTED, type FullState } from '@windlass/protocol'

/** An application that exists. */
export interface KnownApplication {
  readonly namespace: string
  readonly name: string
  readonly uid: string | undefined
  /** Resource version. */
  readonly version: string | undefined
}

export class FullStateRun {
  readonly #id = randomUUID()
  readonly #startedAt: number
  /** The applications at the start. Those that are created later are reported by their changes. */
  readonly #all: readonly KnownApplication[]
  #sent = 0
  #chunk = 1

  constructor(all: readonly KnownApplication[], startedAt: number) {
    this.#all = all
    this.#startedAt = startedAt
  }

  /** The chunk to send next. It is the same until `advance`. */
  get chunk(): FullState {
    const listed = this.#all.slice(this.#sent, this.#sent + MAX_LISTED)
    return {
      id: this.#id,
      startedAt: this.#startedAt,
      chunk: this.#chunk,
      isLast: this.#sent + listed.length >= this.#all.length,
      listed: listed.map(({ namespace, name, version }) => ({ namespace, name, ...defined({ version }) })),
    }
  }

  /** Continues with the next chunk. Returns false if there is none. */
  advance(): boolean {
    this.#sent += MAX_LISTED
    this.#chunk += 1
    return this.#sent < this.#all.length
  }
}
