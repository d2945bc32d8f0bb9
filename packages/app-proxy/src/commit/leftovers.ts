/** Folders of commits whose process was killed. */
import { constants } from 'node:fs'
import { access, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fault } from '@windlass/kit'
import { REPOSITORY_PREFIX } from './git.ts'

/** Longer than any commit takes. The folder may be shared with another app-proxy, whose commits are in progress. Milliseconds. */
const MAX_AGE_MS = 3_600_000

/** Deletes folders of commits that are older than an hour. `now`: epoch milliseconds. */
export async function removeLeftovers(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(REPOSITORY_PREFIX)) continue
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && found.mtimeMs < now - MAX_AGE_MS) await rm(path, { recursive: true, force: true })
  }
}

/** Throws `config-invalid` if no repositories can be made in the folder. */
export async function requireWorkFolder(folder: string): Promise<void> {
  await access(folder, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw fault(
      'config-invalid',
      {
        message: `The app-proxy cannot write to the folder for repositories: ${folder}.`,
        hint: 'Set WINDLASS_APP_PROXY_REPOS_DIR to a folder of a volume that it can write to.',
      },
      error,
    )
  })
}
