import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BOOTSTRAP_CODE_FILE } from '@windlass/server'

/** The file in which a new server with this data folder stores the code of its first admin. */
export function codeFileOf(dataDir: string): string {
  return join(dataDir, BOOTSTRAP_CODE_FILE)
}

/** Returns the body of `POST /v1/bootstrap` for a new server with this data folder. */
export async function firstAdmin(dataDir: string): Promise<{ code: string }> {
  return { code: (await readFile(codeFileOf(dataDir), 'utf8')).trim() }
}
