/** The files of `windlass up` with the keys of the first admin and of the agent. */
import { readFile } from 'node:fs/promises'
import type { ApiClient } from '@windlass/client'
import { fault, isFault, writePrivateFile } from '@windlass/kit'

/** Returns the key in a file. Returns undefined for a missing file, and for an empty one, which a full disk leaves. */
export async function readKeyFile(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.trim() === '' ? undefined : text.trim()
}

export interface AdminKeyOptions {
  readonly keyFile: string
  readonly codeFile: string
  /** Creates a key for a database that has an admin, such as a restored one. Undefined: the database is not that of this folder. */
  readonly recover?: (() => Promise<string>) | undefined
}

/**
 * Returns the key of the first admin from its file, or creates the admin with the code of the server. The code returns the same key until its first
 * use, so a start that could not write the file can be repeated.
 */
export async function findAdminKey(anonymous: ApiClient, { keyFile, codeFile, recover }: AdminKeyOptions): Promise<string> {
  const kept = await readKeyFile(keyFile)
  if (kept !== undefined) return kept
  const code = (await readFile(codeFile, 'utf8').catch(() => '')).trim()
  try {
    const { token } = await anonymous.server.bootstrap({ code })
    writePrivateFile(keyFile, `${token}\n`, { replace: true })
    return token
  } catch (error) {
    if (!isFault(error, 'bootstrap-closed')) throw error
    if (recover !== undefined) {
      const token = await recover()
      writePrivateFile(keyFile, `${token}\n`, { replace: true })
      return token
    }
    throw fault(
      'unauthenticated',
      {
        message: 'This database already has an admin, but the admin key is not in the data folder.',
        hint: 'Set WINDLASS_API_KEY to an admin key.',
      },
      error,
    )
  }
}
