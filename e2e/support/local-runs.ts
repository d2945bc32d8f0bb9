import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { volumeNameOf } from '../../packages/local/src/index.ts'
import { listVolumes, removeVolumes } from './leftovers.ts'

/** Removes the volumes of local runs whose document is a file below the folder, the folder itself, or one of `documents`. */
export async function removeLocalRuns(folder: string, documents: readonly string[] = []): Promise<void> {
  const entries = await readdir(folder, { recursive: true }).catch(() => [])
  const names = new Set(
    [folder, ...documents, ...entries.map((entry) => join(folder, entry))].map((path) => volumeNameOf({ documentPath: path })),
  )
  // A second run at the same time has its own volume: the name of the first one and the end of its build id.
  const isMade = (name: string): boolean => names.has(name) || names.has(name.replace(/-[0-9a-f]{8}$/, ''))
  // The hold of a run that could not be released because of a Docker error.
  const withoutHold = (name: string): string => name.replace(/^windlass-hold-(.*)-\d+$/, '$1')
  await removeVolumes((await listVolumes('windlass-local-')).filter((name) => isMade(withoutHold(name))))
}
