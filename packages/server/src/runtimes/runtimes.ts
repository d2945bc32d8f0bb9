/** Runtime environments as users manage them: every change is a version, and none is lost to another that was made at the same time. */
import { isDeepStrictEqual } from 'node:util'
import { fault, newId } from '@windlass/kit'
import { BASE_PREFIX, type Runtime, type RuntimeInput, type RuntimeLayer } from '@windlass/protocol'
import type { App } from '../app.ts'
import { ELECT_TOPIC } from '../builds/edit.ts'
import { requireFound } from '../builds/require-found.ts'
import { present } from '../builds/view.ts'
import { isOnline, listAgents } from '../store/agents.ts'
import { countLiveAttempts } from '../store/attempts.ts'
import {
  deleteRuntime,
  findDefaultRuntime,
  findRuntime,
  insertRuntimeVersion,
  listRuntimes,
  saveRuntime,
  unpinPipelines,
} from '../store/runtimes.ts'
import type { RuntimeRow } from '../store/schema.ts'
import type { Query } from '../store/store.ts'
import { countWaitingByRuntime } from '../store/waiting.ts'
import { listLivePairs } from '../store/warm-pairs.ts'
import { runtimesOf } from '../tasks/hello.ts'
import { mergeRuntime, readLayer, readLayers, refreshRuntimes, withParent } from './layers.ts'

export interface PutRuntime {
  readonly name?: string | undefined
  readonly input: RuntimeInput
  /** Headers of the call: `If-None-Match: *` makes only, `If-Match` replaces only that version. */
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
  /** Who did it, and why. */
  readonly changedBy: string
  readonly description?: string | undefined
}

/**
 * Creates or replaces a runtime; what changes nothing makes no version. The first one becomes the default. Throws `conflict` when the name
 * is taken or the version is another, `request-invalid` for what it extends and for what does not fit together.
 */
export async function putRuntime(app: App, put: PutRuntime): Promise<{ runtime: Runtime; isNew: boolean }> {
  const { row, isNew } = await app.store.write(async (tx) => {
    const { input } = put
    const before = await findRuntime(tx.query, app.accountId, put.name ?? input.name)
    const taken = await findRuntime(tx.query, app.accountId, input.name)
    checkPrecondition(put, before ?? taken)
    if (before !== undefined && before.name !== input.name)
      throw fault('request-invalid', { message: 'A runtime keeps its name: pipelines and builds refer to it.' })
    if (input.name.startsWith(BASE_PREFIX))
      throw fault('request-invalid', {
        message: `Names that begin with ${BASE_PREFIX} are for layers that come with the server.`,
      })
    const isFirst = (await findDefaultRuntime(tx.query, app.accountId)) === undefined
    const layers = await readLayers(tx.query, app.accountId)
    const own = { name: input.name, layer: withParent(input.type, input.spec) }
    const fresh = nextRow(app, { put, before, isDefault: input.isDefault || isFirst || before?.is_default === 1 })
    const spec = JSON.stringify(mergeRuntime(own, new Map([...layers, [own.name, own.layer]])))
    await saveRuntime(tx, { ...fresh, spec })
    if (fresh.version !== before?.version) {
      const { id, version, layer, changed_by, updated_at } = fresh
      const description = put.description ?? null
      const row = { account_id: app.accountId, runtime_id: id, version, layer, changed_by, description, created_at: updated_at }
      await insertRuntimeVersion(tx, row)
      await refreshRuntimes(tx, app.accountId)
    }
    tx.wake(ELECT_TOPIC)
    return { row: { ...fresh, spec }, isNew: before === undefined }
  })
  return { runtime: await showRuntime(app, row), isNew }
}

function checkPrecondition({ ifMatch, ifNoneMatch, input }: PutRuntime, before: RuntimeRow | undefined): void {
  if (ifNoneMatch === '*' && before !== undefined)
    throw fault('conflict', { message: `There is a runtime ${input.name} already.` })
  if (ifMatch === undefined) return
  const tags = ifMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  if (before === undefined) throw fault('conflict', { message: `There is no runtime ${input.name} to replace.` })
  if (ifMatch !== '*' && !tags.includes(etag(before)))
    throw fault('conflict', {
      message: `The runtime ${before.name} was changed by ${before.changed_by || 'someone else'} (version ${before.version} now).`,
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
  // The order of keys means nothing.
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

/** Builds of pipelines that name none run on it from now on. Throws `not-found`. */
export async function makeDefault(app: App, name: string): Promise<Runtime> {
  const row = await app.store.write(async (tx) => {
    const found = requireFound(await findRuntime(tx.query, app.accountId, name), `runtime ${name}`)
    await saveRuntime(tx, { ...found, is_default: 1 })
    tx.wake(ELECT_TOPIC)
    return { ...found, is_default: 1 as const }
  })
  return showRuntime(app, row)
}

/**
 * Pipelines that name it run on the default one from now on; builds that wait for it wait on. Without `force` the default one stays; with
 * it the oldest of the others takes its place. Throws `not-found`, and `conflict` while attempts run on it or others extend it.
 */
export async function removeRuntime(
  app: App,
  name: string,
  { force = false }: { force?: boolean | undefined } = {},
): Promise<void> {
  await app.store.write(async (tx) => {
    const row = requireFound(await findRuntime(tx.query, app.accountId, name), `runtime ${name}`)
    const others = (await listRuntimes(tx.query, app.accountId)).filter(({ id }) => id !== row.id)
    const running = (await countLiveAttempts(tx.query)).filter(({ runtime }) => runtime === row.name)
    if (running.length > 0) throw fault('conflict', { message: `Builds run on ${row.name}; wait for them or terminate them.` })
    const child = others.find((other) => extendsIt(readLayer(other), row.name))
    if (child !== undefined) throw fault('conflict', { message: `The runtime ${child.name} extends ${row.name}.` })
    if (row.is_default === 1 && others.length > 0 && !force)
      throw fault('conflict', {
        message: `${row.name} is the default runtime.`,
        hint: 'Make another one the default first, or delete it with force.',
      })
    await deleteRuntime(tx, row.id)
    await unpinPipelines(tx, app.accountId, row.name)
    const next = others.toSorted((one, other) => one.created_at - other.created_at || one.name.localeCompare(other.name))[0]
    if (row.is_default === 1 && next !== undefined) await saveRuntime(tx, { ...next, is_default: 1 })
    tx.wake(ELECT_TOPIC)
  })
}

function extendsIt(layer: RuntimeLayer, name: string): boolean {
  return Array.isArray(layer['extends']) && layer['extends'].includes(name)
}

/** As clients see it, with its own layer. */
export async function showRuntime(app: App, row: RuntimeRow): Promise<Runtime> {
  const now = app.clock.now()
  const { query } = app.store
  const agents = await listAgents(query, app.accountId)
  const serving = await Promise.all(agents.map(async (agent) => ({ agent, runtimes: await runtimesOf(app, agent) })))
  const running = (await countLiveAttempts(query))
    .filter(({ runtime }) => runtime === row.name)
    .reduce((sum, { count }) => sum + count, 0)
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    isDefault: row.is_default === 1,
    version: row.version,
    changedBy: row.changed_by,
    spec: readLayer(row),
    agentOnline: serving.some(
      ({ agent, runtimes }) => runtimes.includes(row.name) && isOnline(agent, now, app.timings.agentLeaseMs),
    ),
    running,
    waiting: (await countWaitingByRuntime(query, app.accountId)).get(row.name) ?? 0,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...present({ agent: row.agent, warm: await countWarm(query, row) }),
  }
}

/** Undefined for a runtime without pairs. */
async function countWarm(query: Query, row: RuntimeRow): Promise<Runtime['warm']> {
  const pairs = (await listLivePairs(query, row.account_id)).filter(({ runtime }) => runtime === row.name)
  const count = (status: string): number => pairs.filter((pair) => pair.status === status).length
  return pairs.length === 0 ? undefined : { ready: count('ready'), starting: count('starting') }
}

export async function listShownRuntimes(app: App): Promise<Runtime[]> {
  return Promise.all((await listRuntimes(app.store.query, app.accountId)).map((row) => showRuntime(app, row)))
}
