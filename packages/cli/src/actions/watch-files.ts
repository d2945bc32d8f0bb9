/** Waits for files to change: the document of a build, and the work tree that it takes. */
import { watch, type FSWatcher } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import type { Clock } from '@windlass/kit'

export interface FileWatch extends Disposable {
  /** A signal that is aborted by the first change from now on, once things have been quiet for a moment. */
  next(): AbortSignal
}

/** Editors write a file in several strokes. */
const QUIET_MS = 150

/** Watches single files, and folders with everything in them but `.git` and `node_modules`. */
export function watchFiles(files: readonly string[], folders: readonly string[], clock: Clock): FileWatch {
  let current = new AbortController()
  let strokes = 0
  function changed(): void {
    const stroke = (strokes += 1)
    const waiting = current
    void clock.sleep(QUIET_MS).then(() => {
      if (stroke === strokes) waiting.abort(new DOMException('a file has changed', 'AbortError'))
    })
  }
  const wanted = new Set(files.map((file) => resolve(file)))
  // A file is replaced by most editors: its folder is watched, not the file.
  const watchers: FSWatcher[] = [...new Set([...wanted].map((file) => dirname(file)))].map((folder) =>
    watch(folder, (_, name) => {
      if (name !== null && wanted.has(resolve(folder, name))) changed()
    }),
  )
  for (const folder of folders)
    watchers.push(
      watch(folder, { recursive: true }, (_, name) => {
        if (name !== null && !name.split(sep).some((part) => part === '.git' || part === 'node_modules')) changed()
      }),
    )
  return {
    next() {
      current = new AbortController()
      return current.signal
    },
    [Symbol.dispose]() {
      for (const watcher of watchers) watcher.close()
    },
  }
}
