/** A limit for the bytes that git fetches. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Milliseconds. */
const LOOK_MS = 100

export interface PackLimit extends AsyncDisposable {
  /** Aborted when the packs are larger than allowed. */
  readonly signal: AbortSignal
}

/** Looks at the packs of a repository until disposed, because git has no limit for what it fetches. */
export function limitPacks(folder: string, maxBytes: number): PackLimit {
  const full = new AbortController()
  let looking = Promise.resolve()
  const look = async (): Promise<void> => {
    // Before the first pack there is no folder, and temporary files come and go.
    const names = await readdir(folder).catch(() => [])
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0))
    if (sizes.reduce((sum, size) => sum + size, 0) > maxBytes) full.abort()
  }
  const timer = setInterval(() => {
    looking = looking.then(look)
  }, LOOK_MS)
  return {
    signal: full.signal,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await looking
    },
  }
}
