/** Helpers for tests of the master key rotation. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ContextInput, MasterKeys } from '@windlass/protocol'
import { expect } from 'vitest'
import type { App } from '../../src/app.ts'
import { putContext } from '../../src/contexts/contexts.ts'
import { openContextVariables } from '../../src/contexts/context-data.ts'
import { findContext } from '../../src/store/account/contexts.ts'
import type { HttpScene } from './http-scene.ts'
import { dumpTables } from './secrets-scene.ts'

/** Returns the ids of the keys with which texts in the database are sealed, each with one location. */
export async function keysInUse(app: App): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const { place, text } of await dumpTables(app))
    for (const [, id = ''] of text.matchAll(/\bs1\.([0-9a-f]{16})\./g)) found.set(id, place)
  return found
}

/** Writes a context with one secret. */
export async function put(app: App, name: string, value: string): Promise<void> {
  const input = ContextInput.parse({ name, type: 'secret', data: { FIELD: value } })
  await putContext(app, { input, mustBeNew: false })
}

/** Reads and opens the secret of a context. */
export async function read(app: App, name: string): Promise<string | undefined> {
  const row = await findContext(app.store.query, app.accountId, name)
  return row && openContextVariables(app.vault, row)?.values['FIELD']
}

/** Waits until the keys of the server satisfy `isOver`. */
export async function finished(scene: HttpScene, isOver: (keys: MasterKeys) => boolean): Promise<MasterKeys> {
  return expect
    .poll(() => scene.admin.call('GET', '/v1/master-keys', MasterKeys), { interval: 50 })
    .toSatisfy(isOver)
    .then(() => scene.admin.call('GET', '/v1/master-keys', MasterKeys))
}

export const rotate = (scene: HttpScene, body: object = {}): Promise<MasterKeys> =>
  scene.admin.call('POST', '/v1/master-keys/rotation', MasterKeys, { body })

/** Returns the keys in the file of the data folder. */
export const lines = (dataDir: string): string[] => readFileSync(join(dataDir, 'master.key'), 'utf8').trim().split('\n')
