/** Names all applications and other objects in chunks. The server asks for those that it does not have, and removes those that no chunk names. */
import { randomUUID } from 'node:crypto'
import { defined } from '@windlass/kit'
import { MAX_LISTED, type FullState, type ReportedKind } from '@windlass/protocol'
import type { Known } from './known.ts'

export class FullStateRun {
  readonly #id = randomUUID()
  readonly #startedAt: number
  /** What exists at the start. What is created later is reported by its changes. */
  readonly #all: readonly Known[]
  readonly #kinds: readonly ReportedKind[]
  #sent = 0
  #chunk = 1

  /** All objects that are known to exist. Of these kinds besides applications there are no others. */
  constructor(
    all: readonly Known[],
    { kinds, startedAt }: { readonly kinds: readonly ReportedKind[]; readonly startedAt: number },
  ) {
    this.#all = all
    this.#kinds = kinds
    this.#startedAt = startedAt
  }

  /** The chunk to send next. It is the same until `advance`. */
  get chunk(): FullState {
    const named = this.#all.slice(this.#sent, this.#sent + MAX_LISTED)
    const objects = named.flatMap(({ kind, namespace, name, version }) =>
      kind === 'Application' ? [] : [{ kind, namespace, name, ...defined({ version }) }],
    )
    return {
      id: this.#id,
      startedAt: this.#startedAt,
      chunk: this.#chunk,
      isLast: this.#sent + named.length >= this.#all.length,
      listed: named
        .filter(({ kind }) => kind === 'Application')
        .map(({ namespace, name, version }) => ({ namespace, name, ...defined({ version }) })),
      ...(this.#kinds.length > 0 && { kinds: [...this.#kinds] }),
      ...(objects.length > 0 && { objects }),
    }
  }

  /** Continues with the next chunk. Returns false if there is none. */
  advance(): boolean {
    this.#sent += MAX_LISTED
    this.#chunk += 1
    return this.#sent < this.#all.length
  }
}
