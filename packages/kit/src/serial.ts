/** Work of one key, such as the tasks of an attempt, that runs one after the other. */
export interface Serial {
  /** Runs `work` after the earlier work of the key has settled. Settles like `work`; the next one runs in any case. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>
  /** Returns true while work of the key runs or waits. */
  has(key: string): boolean
  /** Resolves when no work runs or waits. */
  idle(): Promise<void>
}

export function openSerial(): Serial {
  /** The last work of each key. These promises never reject. */
  const last = new Map<string, Promise<void>>()
  return {
    run(key, work) {
      const result = (last.get(key) ?? Promise.resolve()).then(work)
      const end = (): void => {
        if (last.get(key) === ended) last.delete(key)
      }
      const ended: Promise<void> = result.then(end, end)
      last.set(key, ended)
      return result
    },
    has: (key) => last.has(key),
    async idle() {
      while (last.size > 0) await Promise.all(last.values())
    },
  }
}
