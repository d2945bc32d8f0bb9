/** The file of the configuration while a manager runs. */
import { statSync } from 'node:fs'
import { ticks, type Clock, type Logger } from '@windlass/kit'
import { loadConfig } from '../config/config-file.ts'
import type { RunnerConfig } from '../config/schema.ts'

export interface ConfigSource {
  /** Reads the file, and logs each warning about it once. Throws `config-invalid` and `file-not-found`. */
  load(): RunnerConfig
  /** Calls `onChange` after each change of the file, until the signal is aborted. */
  watch(onChange: () => void, signal: AbortSignal): Promise<void>
  /** False if the watch is stuck. */
  isCurrent(): boolean
}

/** Time between two looks at the file, and the time by which one may be late. Milliseconds. */
const LOOK_MS = 3_000
const LATE_MS = 60_000

export function openConfigSource(file: string, { clock, log }: { readonly clock: Clock; readonly log: Logger }): ConfigSource {
  /** Warnings that are in the log. */
  const warned = new Set<string>()
  let stamp = ''
  let lookedAt = clock.monotonic()
  return {
    load() {
      stamp = stampOf(file)
      const { config, findings } = loadConfig(file)
      for (const { severity: _, message, ...place } of findings) {
        const id = JSON.stringify([place.key, message])
        if (warned.has(id)) continue
        warned.add(id)
        log.warn({ file, ...place }, message)
      }
      return config
    },
    async watch(onChange, signal) {
      for await (const _ of ticks(LOOK_MS, { clock, signal })) {
        lookedAt = clock.monotonic()
        if (stampOf(file) !== stamp) onChange()
      }
    },
    isCurrent: () => clock.monotonic() - lookedAt < LOOK_MS + LATE_MS,
  }
}

/** Changes with the file. */
function stampOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? '' : `${stat.mtimeMs} ${stat.size} ${stat.ino}`
}
