/** Prevents the cleaner from removing images that steps of the build use. */

export interface ImageClaims {
  /** Claims an image for a step. Waits for a running removal and returns false then. */
  claim(id: string): Promise<boolean>
  isClaimed(id: string): boolean
  claimed(): readonly string[]
  /** Runs the removal of an unclaimed image and returns its result. Returns false for a claimed image. */
  remove(id: string, work: () => Promise<boolean>): Promise<boolean>
}

export function openImageClaims(): ImageClaims {
  const claimed = new Set<string>()
  const removals = new Map<string, Promise<boolean>>()
  return {
    async claim(id) {
      const removal = removals.get(id)
      if (removal === undefined) claimed.add(id)
      else await removal.catch(() => false)
      return removal === undefined
    },
    isClaimed: (id) => claimed.has(id),
    claimed: () => [...claimed],
    async remove(id, work) {
      if (claimed.has(id) || removals.has(id)) return false
      const removal = work()
      removals.set(id, removal)
      try {
        return await removal
      } finally {
        removals.delete(id)
      }
    },
  }
}
