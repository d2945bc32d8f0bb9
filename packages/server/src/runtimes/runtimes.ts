/** Management of runtime environments. Every change is a version, and concurrent changes do not overwrite each other. */
import { isDeepStrictEqual } from 'node:util'
import { fault, newId } from '@windlass/kit'
import { BASE_PREFIX, type Runtime, type RuntimeInput, type RuntimeLayer } from '@windlass/protocol'
import type { App } from '../app.ts'
import { noteSubject } from '../audit/call.ts'
import { ELECT_TOPIC } from '../builds/lifecycle/edit.ts'
import { abandonAttempts } from '../builds/lifecycle/ends/confirm-gone.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { unpinPipelines } from '../pipelines/add-version.ts'
import { countLiveAttempts } from '../store/builds/attempts.ts'
import {
  deleteRuntime,
  findDefaultRuntime,
  findRuntime,
  insertRuntimeVersion,
  listRuntimes,
  saveRuntime,
} from '../store/runtimes/runtimes.ts'
import type { RuntimeRow } from '../store/schema/schema.ts'
import type { Within } from '../store/store.ts'
import { showRuntime } from './show-runtimes.ts'
import { mergeRuntime, readLayer, readLayers, refreshRuntimes, withParent } from './layers.ts'

export interface PutRuntime {
  readonly name?: string | undefined
  readonly input: RuntimeInput
  /** Request headers: with `If-None-Match: *` only create, with `If-Match` only replace that version. */
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
  /** The caller, and an optional description of the change. */
  readonly changedBy: string
  readonly description?: string | undefined
}

/**
 * Creates or replaces a runtime. An identical spec creates no new version. The first runtime becomes the default. `within` runs in the same
 * transaction. Throws `conflict` if the name is taken or the version does not match, and `request-invalid` for a name or spec that is not allowed.
 */
export async function putRuntime(
  app: App,
  put: PutRuntime,
  within?: Within<Runtime>,
): Promise<{ runtime: Runtime; isNew: boolean }> {
  return app.store.write(async (tx) => {
    const { input } = put
    const before = await findRuntime(tx.query, app.accountId, put.name ?? input.name)
    const taken = await findRuntime(tx.query, app.accountId, input.name)
    checkPrecondition(put, before ?? taken)
    if (before !== undefined && before.name !== input.name)
      throw fault('request-invalid', {
        message: 'A runtime cannot be renamed, because pipelines and builds refer to its name.',
        hint: 'Create a runtime with the new name, and delete the old one.',
      })
    if (input.name.startsWith(BASE_PREFIX))
      throw fault('request-invalid', {
        message: `Names that begin with "${BASE_PREFIX}" are reserved for base layers.`,
        hint: 'Use another name.',
      })
    const isFirst = (await findDefaultRuntime(tx.query, app.accountId)) === undefined
    const layers = await readLayers(tx.query, app.accountId)
    const own = { name: input.name, layer: withParent(input.type, input.spec) }
    const fresh = nextRow(app, { put, before, isDefault: input.isDefault || isFirst || before?.is_default === 1 })
    const spec = JSON.stringify(mergeRuntime(own, new Map([...layers, [own.name, own.layer]])))
    await saveRuntime(tx, { ...fresh, spec })
    const change = before === undefined ? 'new' : before.version === fresh.version ? 'no change' : `version ${fresh.version}`
    noteSubject(`runtime ${fresh.name}, ${change}${put.description === undefined ? '' : `: ${put.description}`}`)
    if (fresh.version !== before?.version) {
      const { id, version, layer, changed_by, updated_at } = fresh
      const description = put.description ?? null
      const row = { account_id: app.accountId, runtime_id: id, version, layer, changed_by, description, created_at: updated_at }
      await insertRuntimeVersion(tx, row)
      await refreshRuntimes(tx, app.accountId)
    }
    tx.wake(ELECT_TOPIC)
    const runtime = await showRuntime(app, { ...fresh, spec }, tx.query)
    await within?.(tx, runtime)
    return { runtime, isNew: before === undefined }
  })
}

function checkPrecondition({ ifMatch, ifNoneMatch, input }: PutRuntime, before: RuntimeRow | undefined): void {
  if (ifNoneMatch === '*' && before !== undefined)
    throw fault('conflict', {
      message: `Runtime "${input.name}" already exists.`,
      hint: 'Use another name, or replace the existing one.',
    })
  if (ifMatch === undefined) return
  const tags = ifMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  if (before === undefined)
    throw fault('conflict', {
      message: `Runtime "${input.name}" does not exist and cannot be replaced.`,
      hint: 'Create it first, or check the name.',
    })
  if (ifMatch !== '*' && !tags.includes(etag(before)))
    throw fault('conflict', {
      message: `Runtime "${before.name}" was changed by ${before.changed_by || 'another user'}. It is at version ${before.version} now.`,
    })
}

export function etag({ version }: { readonly version: number }): string {
  return `"${version}"`
}

function nextRow(
  app: App,
  { put, before, isDefault }: { put: PutRuntime; before: RuntimeRow | undefined; isDefault: boolean },
): RuntimeRow {
  const { input } = put
  const now = app.clock.now()
  const agent = input.agent ?? null
  // The order of keys does not matter.
  const isSameLayer = before !== undefined && isDeepStrictEqual(readLayer(before), JSON.parse(JSON.stringify(input.spec)))
  const layer = isSameLayer ? before.layer : JSON.stringify(input.spec)
  const isSame = isSameLayer && before.agent === agent && before.type === input.type
  return {
    id: before?.id ?? newId(now),
    account_id: app.accountId,
    name: input.name,
    type: input.type,
    agent,
    is_default: isDefault ? 1 : 0,
    layer,
    spec: '{}',
    version: isSame ? before.version : (before?.version ?? 0) + 1,
    changed_by: isSame ? before.changed_by : put.changedBy,
    created_at: before?.created_at ?? now,
    updated_at: isSame ? before.updated_at : now,
  }
}

/** Makes a runtime the default for pipelines that name none. Throws `not-found`. */
export async function makeDefault(app: App, name: string): Promise<Runtime> {
  const row = await app.store.write(async (tx) => {
    const found = requireFound(await findRuntime(tx.query, app.accountId, name), `runtime "${name}"`)
    await saveRuntime(tx, { ...found, is_default: 1 })
    tx.wake(ELECT_TOPIC)
    return { ...found, is_default: 1 as const }
  })
  return showRuntime(app, row)
}

/**
 * Deletes a runtime. Pipelines that name it use the default one, and builds that wait for it keep waiting. The default runtime can only be deleted
 * with `force`, and the oldest of the others then becomes the default. With `force`, lost attempts on the runtime also count as gone. Throws
 * `not-found`, and `conflict` while attempts run on it or other runtimes extend it.
 */
export async function removeRuntime(
  app: App,
  name: string,
  { force = false, by }: { force?: boolean | undefined; by: string },
): Promise<void> {
  await app.store.write(async (tx) => {
    const row = requireFound(await findRuntime(tx.query, app.accountId, name), `runtime "${name}"`)
    const others = (await listRuntimes(tx.query, app.accountId)).filter(({ id }) => id !== row.id)
    if (force) await abandonAttempts(app, tx, { accountId: app.accountId, runtime: row.name, by })
    const running = (await countLiveAttempts(tx.query)).filter(({ runtime }) => runtime === row.name)
    if (running.length > 0)
      throw fault('conflict', {
        message: `Builds are running on runtime "${row.name}".`,
        hint: 'Wait for them or terminate them. If the cluster no longer exists, delete the runtime with force once its builds are lost, or delete its agent with force.',
      })
    const child = others.find((other) => extendsRuntime(readLayer(other), row.name))
    if (child !== undefined)
      throw fault('conflict', {
        message: `Runtime "${child.name}" extends "${row.name}".`,
        hint: `Delete "${child.name}" first, or let it extend another runtime.`,
      })
    if (row.is_default === 1 && others.length > 0 && !force)
      throw fault('conflict', {
        message: `Runtime "${row.name}" is the default.`,
        hint: 'Make another runtime the default first, or delete it with force.',
      })
    await deleteRuntime(tx, row.id)
    await unpinPipelines(app, tx, { runtime: row.name, by })
    const next = others.toSorted((one, other) => one.created_at - other.created_at || one.name.localeCompare(other.name))[0]
    if (row.is_default === 1 && next !== undefined) await saveRuntime(tx, { ...next, is_default: 1 })
    tx.wake(ELECT_TOPIC)
  })
}

function extendsRuntime(layer: RuntimeLayer, name: string): boolean {
  return Array.isArray(layer['extends']) && layer['extends'].includes(name)
}
