/** Keeps the cleaner and the steps of a build from meeting at one image. */

export interface ImageClaims {
  /** A step is about to use an image. False when it is being removed: it is gone when this resolves. */
  claim(id: string): Promise<boolean>
  isClaimed(id: string): boolean
  claimed(): readonly string[]
  /** Does the removal of an image that nobody has claimed, and answers whether it is gone; one that is claimed stays. */
  remove(id: string, work: () => Promise<boolean>): Promise<boolean>
}

export function openImageClaims(): ImageClaims {
  const claimed = new Set<string>()
  const going = new Map<string, Promise<boolean>>()
  return {
    async claim(id) {
      const removal = going.get(id)
      if (removal === undefined) claimed.add(id)
      else await removal.catch(() => false)
      return removal === undefined
    },
    isClaimed: (id) => claimed.has(id),
    claimed: () => [...claimed],
    async remove(id, work) {
      if (claimed.has(id) || going.has(id)) return false
      const removal = work()
      going.set(id, removal)
      try {
        return await removal
      } finally {
        going.delete(id)
      }
    },
  }
}
