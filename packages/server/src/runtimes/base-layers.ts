/** The base layers that runtimes extend. The operator can override them. */
import { fault } from '@windlass/kit'
import { BASE_LAYERS, BASE_PREFIX, type RuntimeLayer } from '@windlass/protocol'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { deleteBaseLayer, listBaseLayers, saveBaseLayer } from '../store/runtimes/runtimes.ts'
import { mergeRuntime, readLayer, readLayers, refreshRuntimes } from './layers.ts'

export interface BaseLayer {
  readonly name: string
  /** 0 for a built-in layer. */
  readonly version: number
  readonly changedBy: string
  readonly layer: RuntimeLayer
}

/** Lists the base layers, sorted by name. */
export async function listBases(app: App): Promise<BaseLayer[]> {
  const stored = await listBaseLayers(app.store.query, app.accountId)
  const all = new Map(
    Object.entries(BASE_LAYERS).map(([name, layer]): [string, BaseLayer] => [name, { name, version: 0, changedBy: '', layer }]),
  )
  for (const row of stored)
    all.set(row.name, { name: row.name, version: row.version, changedBy: row.changed_by, layer: readLayer(row) })
  return [...all.values()].toSorted((one, other) => one.name.localeCompare(other.name))
}

/** Returns a base layer, with `merged` including everything that it extends. Throws `not-found`. */
export async function getBase(app: App, name: string, { merged }: { merged: boolean }): Promise<BaseLayer> {
  const found = requireFound(
    (await listBases(app)).find((base) => base.name === name),
    `base layer "${name}"`,
  )
  if (!merged) return found
  return { ...found, layer: mergeRuntime(found, await readLayers(app.store.query, app.accountId)) }
}

/** Saves a base layer and refreshes the runtimes that extend it. Throws `request-invalid` for a name that is not a base name, and if a runtime would become inconsistent. */
export async function putBase(app: App, base: Omit<BaseLayer, 'version'>): Promise<BaseLayer> {
  const { name, layer, changedBy } = base
  if (!name.startsWith(BASE_PREFIX))
    throw fault('request-invalid', {
      message: `The name of a base layer must begin with "${BASE_PREFIX}", not "${name}".`,
      hint: `Use a name that begins with "${BASE_PREFIX}".`,
    })
  return app.store.write(async (tx) => {
    const before = (await listBaseLayers(tx.query, app.accountId)).find((row) => row.name === name)
    const version = (before?.version ?? 0) + 1
    await saveBaseLayer(tx, {
      account_id: app.accountId,
      name,
      layer: JSON.stringify(layer),
      version,
      changed_by: changedBy,
      updated_at: app.clock.now(),
    })
    mergeRuntime({ name, layer }, await readLayers(tx.query, app.accountId))
    await refreshRuntimes(tx, app.accountId)
    return { ...base, version }
  })
}

/** Deletes a stored base layer, so that the built-in one of this name applies again. Throws `not-found`, and `request-invalid` while a runtime needs it. */
export async function removeBase(app: App, name: string): Promise<void> {
  await app.store.write(async (tx) => {
    if (!(await listBaseLayers(tx.query, app.accountId)).some((row) => row.name === name))
      throw fault('not-found', {
        message: `No base layer "${name}" is stored, so there is nothing to delete.`,
        hint: 'Run `windlass get sys-re`: layers of version "built in" cannot be deleted.',
      })
    await deleteBaseLayer(tx, app.accountId, name)
    await refreshRuntimes(tx, app.accountId)
  })
}
