/** Views of the list of builds that all users share. */
import { fault, newId } from '@windlass/kit'
import { MAX_SHARED_VIEWS, tolerant, ViewFilter, type SharedView, type ViewInput } from '@windlass/protocol'
import type { App } from '../app.ts'
import { lockAccount } from '../store/account/accounts.ts'
import { deleteSharedView, listSharedViews, saveSharedView } from '../store/access/preferences.ts'
import type { SharedViewRow } from '../store/schema/user-schema.ts'
import type { Tx, Within } from '../store/store.ts'

/** During an upgrade a newer server can store further filters. */
const StoredFilter = tolerant(ViewFilter)

function toView({ id, name, filter, created_by, created_at, updated_at }: SharedViewRow): SharedView {
  const times = { createdAt: created_at, updatedAt: updated_at }
  return { id, name, filter: StoredFilter.parse(JSON.parse(filter)), createdBy: created_by, ...times }
}

/** Lists shared views by name. */
export async function listViews(app: App): Promise<SharedView[]> {
  return (await listSharedViews(app.store.query, app.accountId)).map(toView)
}

/** Creates a shared view. `within` runs in the same transaction. Throws `conflict` if the name is taken or there are too many views. */
export async function createView(
  app: App,
  { input, by }: { readonly input: ViewInput; readonly by: string },
  within?: Within<SharedView>,
): Promise<SharedView> {
  return app.store.write(async (tx) => {
    const now = app.clock.now()
    const { name, filter } = input
    const row: SharedViewRow = {
      id: newId(now),
      account_id: app.accountId,
      name,
      filter: JSON.stringify(filter),
      created_by: by,
      created_at: now,
      updated_at: now,
    }
    const views = await lockViews(app, tx)
    await within?.(tx, toView(row))
    requireFreeName(views, row)
    if (views.length >= MAX_SHARED_VIEWS)
      throw fault('conflict', { message: `There are ${MAX_SHARED_VIEWS} shared views already.`, hint: 'Delete one first.' })
    await saveSharedView(tx, row)
    return toView(row)
  })
}

/** Replaces the name and the filter of a shared view. Throws `not-found`, and `conflict` if the name is taken. */
export async function changeView(app: App, name: string, { name: newName, filter }: ViewInput): Promise<SharedView> {
  return app.store.write(async (tx) => {
    const views = await lockViews(app, tx)
    const row = { ...requireView(views, name), name: newName, filter: JSON.stringify(filter), updated_at: app.clock.now() }
    requireFreeName(views, row)
    await saveSharedView(tx, row)
    return toView(row)
  })
}

/** Deletes a shared view. Throws `not-found`. */
export async function removeView(app: App, name: string): Promise<void> {
  await app.store.write(async (tx) => deleteSharedView(tx, requireView(await lockViews(app, tx), name).id))
}

async function lockViews(app: App, tx: Tx): Promise<SharedViewRow[]> {
  await lockAccount(tx, app.accountId)
  return listSharedViews(tx.query, app.accountId)
}

function requireView(views: readonly SharedViewRow[], name: string): SharedViewRow {
  const found = views.find((view) => view.id === name) ?? views.find((view) => view.name === name)
  if (found !== undefined) return found
  throw fault('not-found', {
    message: `The shared view "${name}" does not exist.`,
    hint: 'List them with `windlass get views`.',
  })
}

function requireFreeName(views: readonly SharedViewRow[], { id, name }: SharedViewRow): void {
  if (views.some((view) => view.id !== id && view.name === name))
    throw fault('conflict', { message: `The shared view "${name}" already exists.`, hint: 'Use another name.' })
}
