/**
 * Which attempts this data folder has started on the host: one empty file each, made before the engine starts and removed when nothing is
 * left of it. Containers alone would not tell: other servers and local runs use the same daemon and the same labels.
 */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AttemptRef } from '@windlass/agent'

export interface AttemptMarks {
  add(ref: AttemptRef): Promise<void>
  remove(ref: AttemptRef): Promise<void>
  list(): Promise<AttemptRef[]>
}

/** Opens the folder; made when missing. */
export async function openMarks(folder: string): Promise<AttemptMarks> {
  await mkdir(folder, { recursive: true })
  const path = ({ buildId, attempt }: AttemptRef): string => join(folder, `${buildId}.${attempt}`)
  return {
    add: (ref) => writeFile(path(ref), ''),
    remove: (ref) => rm(path(ref), { force: true }),
    async list() {
      return (await readdir(folder)).flatMap((name) => {
        const [buildId, attempt] = name.split('.')
        return buildId === undefined || attempt === undefined ? [] : [{ buildId, attempt: Number(attempt) }]
      })
    },
  }
}
