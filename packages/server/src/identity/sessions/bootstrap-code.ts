/** The code that creates the first admin of a new server. It proves access to the data folder or the log; reaching the port is not enough. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fault, sha256, tokenMatches, writePrivateFile } from '@windlass/kit'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { hasCredentials } from '../../store/access/api-keys.ts'
import { findMeta } from '../../store/account/meta.ts'
import type { Query } from '../../store/store.ts'

/** File in the data folder; exists until the first admin key is used, unless the settings have a code. */
export const BOOTSTRAP_CODE_FILE = 'bootstrap.code'

/** Key of `meta`: JSON, see `UnusedKey`. Absent once the first key was used. */
export const FIRST_KEY = 'first-key'

const UnusedKey = z.object({
  /** Id of the API key. */
  id: z.string(),
  /** Id of the master key from which its secret is derived. */
  masterKey: z.string(),
})
/** The first key until the first call with it. */
export type UnusedKey = z.output<typeof UnusedKey>

export async function findUnusedKey(query: Query): Promise<UnusedKey | undefined> {
  const text = await findMeta(query, FIRST_KEY)
  return text === undefined ? undefined : UnusedKey.parse(JSON.parse(text))
}

function fileOf({ dataDir }: Pick<App, 'dataDir'>): string {
  return join(dataDir, BOOTSTRAP_CODE_FILE)
}

/** Generates and logs the code at the start of a server that has no keys and no code in its settings. Removes an old code file. */
export async function prepareBootstrap(app: App): Promise<void> {
  const isSetUp = await hasCredentials(app.store.query, app.accountId)
  const isOpen = !isSetUp || (await findUnusedKey(app.store.query)) !== undefined
  if (app.bootstrapCode !== undefined || !isOpen) return closeBootstrap(app)
  // Only the code that created the first key returns it.
  if (isSetUp) return
  const file = fileOf(app)
  // Servers that share the folder share the code: the first one writes the file.
  if (!existsSync(file)) writePrivateFile(file, `${randomBytes(18).toString('base64url')}\n`)
  app.log.warn(
    { code: readFileSync(file, 'utf8').trim(), file },
    'This server has no admin yet. Create one with this code: windlass auth login --first-admin --code-file FILE',
  )
}

/** Returns the given code. Throws `bootstrap-code` unless it is correct. */
export function requireBootstrapCode(app: App, given: string | undefined): string {
  const file = fileOf(app)
  const code = app.bootstrapCode ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined)
  if (code === undefined || given === undefined || !tokenMatches(given, sha256(code))) throw fault('bootstrap-code')
  return given
}

/** Deletes the code file, which is no longer needed. */
export function closeBootstrap(app: App): void {
  const file = fileOf(app)
  try {
    rmSync(file, { force: true })
  } catch (error) {
    app.log.warn({ err: error, file }, 'The file of the bootstrap code cannot be deleted. Its code is no longer valid.')
  }
}
