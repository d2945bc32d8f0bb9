/** Space on the disk that is occupied by a file until it is needed. */
import { rmSync, writeFileSync } from 'node:fs'
import { isNoSpace } from './record.ts'

export class Reserve {
  readonly #path: string

  /** Occupies the space. A disk that is full already has none: the spool works without it. */
  constructor(path: string, bytes: number) {
    this.#path = path
    if (bytes === 0) return
    try {
      writeFileSync(path, Buffer.alloc(bytes))
    } catch (error) {
      if (!isNoSpace(error)) throw error
    }
  }

  /** Gives the space back. */
  release(): void {
    rmSync(this.#path, { force: true })
  }
}
