/** Watches the document of a build and its work tree for changes. */
import { watch, type FSWatcher } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import type { Clock } from '@windlass/kit'

export interface FileWatch extends Disposable {
  /** Returns a signal that is aborted after the next change, once no further change follows for a short time. */
  next(): AbortSignal
}

/** Editors write a file in several steps; changes within this time count as one. */
const QUIET_MS = 150

/** Watches single files, and folders recursively except `.git` and `node_modules`. */
export function watchFiles(files: readonly string[], folders: readonly string[], clock: Clock): FileWatch {
  let current = new AbortController()
  let changes = 0
  function changed(): void {
    const change = (changes += 1)
    const waiting = current
    void clock.sleep(QUIET_MS).then(() => {
      if (change === changes) waiting.abort(new DOMException('a file has changed', 'AbortError'))
    })
  }
  const wanted = new Set(files.map((file) => resolve(file)))
  // Watch the folder instead of the file, because most editors replace the file.
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
