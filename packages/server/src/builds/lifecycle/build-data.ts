/** Data that clients store with a build. Windlass itself does not use it. */
import { fault, newId } from '@windlass/kit'
import type { App } from '../../app.ts'
import { buildDataPlace } from '../../secrets/places.ts'
import { countBuildData, insertBuildData } from '../../store/builds/build-data.ts'
import { lockBuild } from '../../store/builds/builds.ts'
import type { BuildDataRow } from '../../store/schema/schema.ts'
import type { Within } from '../../store/store.ts'
import { requireFound } from './require-found.ts'

const MAX_ITEMS = 100

/** Stores an item, encrypted. Returns its id. Throws `conflict` if the build has 100 items, and `not-found` without the build. */
export async function addBuildData(app: App, buildId: string, data: object, within?: Within<string>): Promise<string> {
  const now = app.clock.now()
  const owner = { id: newId(now), account_id: app.accountId }
  await app.store.write(async (tx) => {
    // Retention may have deleted the build in the meantime.
    requireFound(await lockBuild(tx, buildId), `build "${buildId}"`)
    await within?.(tx, owner.id)
    if ((await countBuildData(tx.query, buildId)) >= MAX_ITEMS)
      throw fault('conflict', {
        message: `The build has ${MAX_ITEMS} data items, which is the maximum.`,
        hint: 'Store more in one item, or in a file of the volume.',
      })
    const sealer = await app.vault.sealer(tx)
    const sealed = sealer.seal(buildDataPlace(owner), JSON.stringify(data))
    await insertBuildData(tx, { ...owner, build_id: buildId, created_at: now, data: sealed })
  })
  return owner.id
}

/** Decrypts an item. */
export function openBuildData(app: App, row: BuildDataRow): unknown {
  return JSON.parse(app.vault.open(buildDataPlace(row), row.data))
}
