/** Folders of ledgers, and a clock that does not wait. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { systemClock, type Clock } from '@windlass/kit'

export const hasty: Clock = { ...systemClock, sleep: (_, signal) => turn(undefined, signal && { signal }) }

const folders: string[] = []

export function openFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'work-'))
  folders.push(dir)
  return dir
}

/** Returns a folder as another process would find it after kill -9 at this moment. */
export function afterKill(dir: string): string {
  const copy = openFolder()
  cpSync(dir, copy, { recursive: true })
  return copy
}

export function removeFolders(): void {
  for (const dir of folders.splice(0)) rmSync(dir, { recursive: true })
}
