/** A limit for calls that need memory each, or also a process and a folder. */
import { fault } from '@windlass/kit'

export interface Slots {
  /** Resolves when fewer than the limit are in progress, with the function that ends this one. Throws `rate-limited` if too many wait. */
  enter(): Promise<() => void>
}

export interface SlotLimits {
  /** How many are in progress at once. */
  readonly limit: number
  /** How many may wait for their turn. */
  readonly waiting: number
  /** What is in progress, such as `commits`. */
  readonly of: string
}

export function openSlots({ limit, waiting, of }: SlotLimits): Slots {
  let free = limit
  const queue: (() => void)[] = []
  /** Gives the place to the next one that waits. */
  const leave = (): void => {
    const next = queue.shift()
    if (next === undefined) free += 1
    else next()
  }
  return {
    async enter() {
      if (free > 0) free -= 1
      else {
        if (queue.length >= waiting)
          throw fault('rate-limited', { message: `${limit + waiting} ${of} are in progress.`, retryAfter: 5 })
        const { promise, resolve } = Promise.withResolvers<void>()
        queue.push(resolve)
        await promise
      }
      let isOver = false
      return () => {
        if (!isOver) leave()
        isOver = true
      }
    },
  }
}

/** A limit for each owner of calls, so that one of them cannot take all slots. */
export interface Shares {
  /** Returns the function that ends a call of this owner. Throws `rate-limited` if as many as the limit are in progress. */
  enter(owner: string): () => void
}

export function openShares({ limit, of }: Pick<SlotLimits, 'limit' | 'of'>): Shares {
  const taken = new Map<string, number>()
  return {
    enter(owner) {
      const before = taken.get(owner) ?? 0
      if (before >= limit) throw fault('rate-limited', { message: `${limit} of your ${of} are in progress.`, retryAfter: 5 })
      taken.set(owner, before + 1)
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        const left = (taken.get(owner) ?? 1) - 1
        if (left > 0) taken.set(owner, left)
        else taken.delete(owner)
      }
    },
  }
}
