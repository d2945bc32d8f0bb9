/** Watches files for changes. */
import { watch, type FSWatcher } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Clock } from '@windlass/kit'

/** Editors write a file in several steps; changes within this time count as one. */
const SETTLE_MS = 80

/**
 * Calls `onChange` with the changed files, one call at a time, until `signal` is aborted. Watches from the call on, and folders instead of files, because
 * editors replace files by renaming.
 */
export async function watchFiles(
  paths: readonly string[],
  { clock, signal, onChange }: { clock: Clock; signal: AbortSignal; onChange: (changed: readonly string[]) => Promise<void> },
): Promise<void> {
  const changed = new Set<string>()
  let wake = Promise.withResolvers<void>()
  const watchers: FSWatcher[] = []
  for (const [folder, inside] of Map.groupBy(paths, (path) => dirname(resolve(path)))) {
    const watcher = watch(folder, (_event, name) => {
      for (const path of inside) if (name === null || basename(path) === name) changed.add(path)
      if (changed.size > 0) wake.resolve()
    })
    watcher.on('error', () => undefined)
    watchers.push(watcher)
  }
  signal.addEventListener('abort', () => wake.resolve(), { once: true })
  try {
    while (!signal.aborted) {
      await wake.promise
      await clock.sleep(SETTLE_MS, signal).catch(() => undefined)
      wake = Promise.withResolvers<void>()
      const settled = [...changed]
      changed.clear()
      if (!signal.aborted && settled.length > 0) await onChange(settled)
    }
  } finally {
    for (const watcher of watchers) watcher.close()
  }
}
