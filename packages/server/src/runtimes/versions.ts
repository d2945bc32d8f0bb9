/** The versions of a runtime, and the differences between two of them. */
import { originsOf, type Runtime, type RuntimeDiff, type RuntimeLayer, type RuntimeVersion } from '@windlass/protocol'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { present } from '../builds/lifecycle/view.ts'
import { findRuntime, findRuntimeVersion, listRuntimeVersions } from '../store/runtimes/runtimes.ts'
import type { RuntimeRow } from '../store/schema/schema.ts'
import { diffLeaves } from './diff-leaves.ts'
import { chainOf, mergeRuntime, readLayer, readLayers, withParent } from './layers.ts'
import { hideOperatorFields } from './operator-fields.ts'
import { showRuntime } from './show-runtimes.ts'

export interface VersionQuery {
  readonly version?: number | undefined
  readonly merged?: boolean | undefined
}

/**
 * Returns a runtime, by default its current version. With `merged`, its spec includes everything that it extends now, with the layer of each value. Throws
 * `not-found`.
 */
export async function showVersion(app: App, name: string, { version, merged = false }: VersionQuery): Promise<Runtime> {
  const row = requireFound(await findRuntime(app.store.query, app.accountId, name), `runtime "${name}"`)
  const shown = await showRuntime(app, row)
  const wanted = version ?? row.version
  const read = merged ? await readMerged(app, row, wanted) : { spec: await readVersion(app, row, { version: wanted, merged }) }
  if (wanted === row.version) return { ...shown, ...read }
  const old = requireFound(
    await findRuntimeVersion(app.store.query, row.id, wanted),
    `version ${wanted} of runtime "${row.name}"`,
  )
  return { ...shown, ...read, version: wanted, changedBy: old.changed_by, updatedAt: old.created_at }
}

/** Returns the merged spec of a version, and the layer that each of its values comes from. */
async function readMerged(app: App, row: RuntimeRow, version: number): Promise<Required<Pick<Runtime, 'spec' | 'origins'>>> {
  const layer = withParent(row.type, await readVersion(app, row, { version, merged: false }))
  const own = { name: row.name, layer }
  const layers = await readLayers(app.store.query, app.accountId)
  return { spec: mergeRuntime(own, layers), origins: Object.fromEntries(originsOf(chainOf(own, layers))) }
}

async function readVersion(
  app: App,
  row: RuntimeRow,
  { version, merged }: { version: number; merged: boolean },
): Promise<RuntimeLayer> {
  const { query } = app.store
  const kept =
    version === row.version
      ? row
      : requireFound(await findRuntimeVersion(query, row.id, version), `version ${version} of runtime "${row.name}"`)
  const layer = readLayer(kept)
  if (!merged) return layer
  return mergeRuntime({ name: row.name, layer: withParent(row.type, layer) }, await readLayers(query, app.accountId))
}

/** Lists the versions of a runtime, newest first. Throws `not-found`. */
export async function listVersions(app: App, name: string): Promise<RuntimeVersion[]> {
  const row = requireFound(await findRuntime(app.store.query, app.accountId, name), `runtime "${name}"`)
  const versions = await listRuntimeVersions(app.store.query, row.id)
  return versions.map((kept) => ({
    version: kept.version,
    changedBy: kept.changed_by,
    createdAt: kept.created_at,
    current: kept.version === row.version,
    spec: readLayer(kept),
    ...present({ description: kept.description }),
  }))
}

export interface VersionRange {
  readonly from: number
  /** Default: the current version. */
  readonly to?: number | undefined
  readonly merged?: boolean | undefined
  /** True for callers who may not read base layers. */
  readonly hidesOperatorFields: boolean
}

/** Lists the leaf values that differ between two versions, by path. Throws `not-found`. */
export async function diffVersions(
  app: App,
  name: string,
  { from, to, merged = false, hidesOperatorFields }: VersionRange,
): Promise<RuntimeDiff> {
  const row = requireFound(await findRuntime(app.store.query, app.accountId, name), `runtime "${name}"`)
  const until = to ?? row.version
  const read = async (version: number): Promise<RuntimeLayer> => {
    const spec = await readVersion(app, row, { version, merged })
    // Base layers may have fields of the operator.
    return merged && hidesOperatorFields ? hideOperatorFields(spec) : spec
  }
  return { from, to: until, changes: diffLeaves(await read(from), await read(until)) }
}
