/** Which runtime environments a caller may see and use: all, unless the account gives a tag of theirs to teams. */
import { fault, type Fault } from '@windlass/kit'
import { readAccountSettings } from '../account/settings.ts'
import type { App } from '../app.ts'
import { readSpec } from '../builds/schedule/limits.ts'
import { isAllowed, type Actor } from '../identity/actor.ts'
import { listTeamsOf } from '../store/access/teams.ts'
import { findDefaultRuntime, findRuntime, listRuntimes } from '../store/runtimes/runtimes.ts'
import type { RuntimeRow } from '../store/schema/schema.ts'
import type { Query } from '../store/store.ts'

type Tagged = Pick<RuntimeRow, 'name' | 'spec'>

export interface RuntimeAccess {
  allows(runtime: Tagged): boolean
  /** Throws `runtime-denied` unless the caller may use the runtime. */
  require(runtime: Tagged): void
}

const EVERYTHING: RuntimeAccess = { allows: () => true, require: () => undefined }

/** Reads what the caller may use. Admins may use everything, and so may callers that are no users, such as steps: what they start was checked when it was stored. */
export async function readRuntimeAccess({ accountId }: App, query: Query, actor: Actor): Promise<RuntimeAccess> {
  if (actor.kind !== 'key' || isAllowed(actor, 'manage-runners')) return EVERYTHING
  const { runtimeAccess } = await readAccountSettings(query, accountId)
  const teamsOf = new Map(Object.entries(runtimeAccess))
  if (teamsOf.size === 0) return EVERYTHING
  const own = new Set(actor.owner === undefined ? [] : (await listTeamsOf(query, actor.owner.id)).map(({ name }) => name))
  const refusalOf = (runtime: Tagged): Fault | undefined => {
    const tags = readSpec(runtime).tags.filter((tag) => teamsOf.has(tag))
    const teams = [...new Set(tags.flatMap((tag) => teamsOf.get(tag) ?? []))]
    return tags.length === 0 || teams.some((team) => own.has(team)) ? undefined : denied(runtime, teams)
  }
  return {
    allows: (runtime) => refusalOf(runtime) === undefined,
    require(runtime) {
      const refusal = refusalOf(runtime)
      if (refusal !== undefined) throw refusal
    },
  }
}

/** Returns the ids of the runtimes that the caller may not see. */
export async function findHiddenRuntimes(app: App, actor: Actor): Promise<ReadonlySet<string>> {
  const { query } = app.store
  const access = await readRuntimeAccess(app, query, actor)
  const all = access === EVERYTHING ? [] : await listRuntimes(query, app.accountId)
  return new Set(all.filter((runtime) => !access.allows(runtime)).map(({ id }) => id))
}

function denied({ name }: Tagged, teams: readonly string[]): Fault {
  const members = teams.length === 0 ? '' : `members of ${teams.map((team) => `"${team}"`).join(', ')} and `
  return fault('runtime-denied', { message: `Only ${members}admins may use the runtime environment "${name}".` })
}

/** Throws `runtime-denied` unless the caller may use the runtime of this name or id, or the default one. Ignores one that does not exist. */
export async function requireRuntimeAccess(
  app: App,
  actor: Actor,
  name: string | undefined,
  query: Query = app.store.query,
): Promise<void> {
  const access = await readRuntimeAccess(app, query, actor)
  if (access === EVERYTHING) return
  const row = await (name === undefined ? findDefaultRuntime(query, app.accountId) : findRuntime(query, app.accountId, name))
  if (row !== undefined) access.require(row)
}
