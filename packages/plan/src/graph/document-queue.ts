import type { Node, Shape } from './shape.ts'

/** Queue of steps to consider, in document order so that the same state always gives the same decisions. */
export class DocumentQueue {
  readonly #isQueued: boolean[] = []
  #from = 0

  add({ index }: Node): void {
    this.#isQueued[index] = true
    this.#from = Math.min(this.#from, index)
  }

  next({ nodes }: Shape): Node | undefined {
    for (; this.#from < nodes.length; this.#from += 1) {
      if (this.#isQueued[this.#from] !== true) continue
      this.#isQueued[this.#from] = false
      return nodes[this.#from]
    }
    return undefined
  }
}
