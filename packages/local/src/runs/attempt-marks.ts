/**
 * Records the attempts that this data folder has started on the host: one file each, created before the engine starts and removed when nothing
 * of the attempt is left. Containers cannot tell this, because other servers and local runs use the same daemon and the same labels.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AttemptRef } from '@windlass/agent'

export interface AttemptMark {
  readonly ref: AttemptRef
  /** The credential with which the engine claimed. Another engine can use it to send the rest of the spool. */
  readonly bootstrap: string
}

export interface AttemptMarks {
  add(mark: AttemptMark): Promise<void>
  remove(ref: AttemptRef): Promise<void>
  list(): Promise<AttemptMark[]>
}

/** Opens the folder and creates it if it does not exist. */
export async function openMarks(folder: string): Promise<AttemptMarks> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = ({ buildId, attempt }: AttemptRef): string => join(folder, `${buildId}.${attempt}`)
  return {
    add: ({ ref, bootstrap }) => writeFile(path(ref), bootstrap, { mode: 0o600 }),
    remove: (ref) => rm(path(ref), { force: true }),
    async list() {
      const marks = (await readdir(folder)).map(async (name) => {
        const [buildId = '', attempt = ''] = name.split('.')
        return { ref: { buildId, attempt: Number(attempt) }, bootstrap: await readFile(join(folder, name), 'utf8') }
      })
      return Promise.all(marks)
    },
  }
}
