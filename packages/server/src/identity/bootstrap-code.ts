/** The code that creates the first admin of a new server. It proves access to the data folder or the log; reaching the port is not enough. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fault, sha256, tokenMatches, writePrivateFile } from '@windlass/kit'
import type { App } from '../app.ts'
import { countApiKeys } from '../store/account/api-keys.ts'

/** File in the data folder; exists while there is no admin and the settings have no code. */
export const BOOTSTRAP_CODE_FILE = 'bootstrap.code'

function fileOf({ dataDir }: Pick<App, 'dataDir'>): string {
  return join(dataDir, BOOTSTRAP_CODE_FILE)
}

/** Generates and logs the code at the start of a server that has no keys and no code in its settings. Otherwise removes an old code file. */
export async function prepareBootstrap(app: App): Promise<void> {
  if (app.bootstrapCode !== undefined || (await countApiKeys(app.store.query, app.accountId)) > 0) return closeBootstrap(app)
  const file = fileOf(app)
  // Servers that share the folder share the code: the first one writes the file.
  if (!existsSync(file)) writePrivateFile(file, `${randomBytes(18).toString('base64url')}\n`)
  app.log.warn(
    { code: readFileSync(file, 'utf8').trim(), file },
    'This server has no admin yet. Create one with this code: windlass auth login --first-admin --code-file FILE',
  )
}

/** Throws `bootstrap-code` unless the given code is correct. */
export function requireBootstrapCode(app: App, given: string | undefined): void {
  const file = fileOf(app)
  const code = app.bootstrapCode ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined)
  if (code === undefined || given === undefined || !tokenMatches(given, sha256(code))) throw fault('bootstrap-code')
}

/** Deletes the code file, which is no longer needed. */
export function closeBootstrap(app: App): void {
  rmSync(fileOf(app), { force: true })
}
