/** Works of one key that run one after the other. */

/** Runs `work`, which must not reject, after the earlier works of the key. */
export type InTurn = (key: string, work: () => Promise<void>) => Promise<void>

export function openTurns(): InTurn {
  const last = new Map<string, Promise<void>>()
  return async (key, work) => {
    const done = (last.get(key) ?? Promise.resolve()).then(work)
    last.set(key, done)
    await done
    if (last.get(key) === done) last.delete(key)
  }
}
