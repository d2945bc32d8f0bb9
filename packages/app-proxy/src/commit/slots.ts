/** A limit for calls that need memory, a process and a folder each. */
import { fault } from '@windlass/kit'

export interface Slots {
  /** Resolves when fewer than the limit are in progress, with the function that ends this one. Throws `rate-limited` if too many wait. */
  enter(): Promise<() => void>
}

/** `limit`: how many are in progress at once. `waiting`: how many may wait for their turn. */
export function openSlots({ limit, waiting }: { readonly limit: number; readonly waiting: number }): Slots {
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
          throw fault('rate-limited', { message: `${limit + waiting} calls like this one are in progress.`, retryAfter: 5 })
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
