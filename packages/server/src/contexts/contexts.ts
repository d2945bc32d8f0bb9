import { fault, newId } from '@windlass/kit'
import { MASK, type Context, type ContextInput } from '@windlass/protocol'
import type { App } from '../app.ts'
import { noteDetail } from '../audit/call.ts'
import { describeChanges } from '../audit/describe-changes.ts'
import { deleteContext, findContext, listContexts, lockContext, saveContext } from '../store/account/contexts.ts'
import type { ContextRow } from '../store/schema/schema.ts'
import type { Within } from '../store/store.ts'
import { expiryOf, sealContextData, toContext } from './context-data.ts'
import { hasLease } from './git-login.ts'
import { checkKubeconfig } from './stored-kubeconfig.ts'

export interface ContextPut {
  /** Id or name of the context to replace. */
  readonly name?: string | undefined
  readonly input: ContextInput
  readonly mustBeNew: boolean
  /** Name of the caller. */
  readonly by?: string | undefined
}

/**
 * Creates or replaces a context; secret fields sent as `*****` keep their value. `within` runs in the same transaction. Throws `conflict`,
 * `request-invalid`.
 */
export async function putContext(
  app: App,
  { name, input, mustBeNew, by }: ContextPut,
  within?: Within<Context>,
): Promise<{ context: Context; isNew: boolean }> {
  await checkKubeconfig(app, input)
  return app.store.write(async (tx) => {
    // The lock makes a renewal of its token wait, which would otherwise be overwritten with the earlier one.
    const before = await lockContext(tx, app.accountId, name ?? input.name)
    const taken = await findContext(tx.query, app.accountId, input.name)
    if (taken !== undefined && (mustBeNew || taken.id !== before?.id))
      throw fault('conflict', { message: `The context "${input.name}" already exists.` })
    const now = app.clock.now()
    const owner = { id: before?.id ?? newId(now), account_id: app.accountId, type: input.type }
    const row: ContextRow = {
      ...owner,
      name: input.name,
      is_default: input.isDefault ? 1 : 0,
      data: sealContextData(await app.vault.sealer(tx), owner, input.data, before),
      ...renewalOf(input, before, now),
      changed_by: by ?? null,
      created_at: before?.created_at ?? now,
      updated_at: now,
    }
    await saveContext(tx, row)
    const context = toContext(row)
    noteDetail(
      describeChanges(row.name, before && fieldsOf(toContext(before)), { ...fieldsOf(context), ...replacedIn(context, input) }),
    )
    await within?.(tx, context)
    return { context, isNew: before === undefined }
  })
}

/** Returns the fields of a context for the audit log, with secret ones masked. */
function fieldsOf({ type, isDefault, data }: Context): Readonly<Record<string, unknown>> {
  return { type, isDefault, ...data }
}

/** Returns which secret fields got a new value, which the masked data does not show. */
function replacedIn({ data }: Context, input: ContextInput): Readonly<Record<string, string>> {
  const fields = Object.keys(data).filter((field) => data[field] === MASK && input.data[field] !== MASK)
  return Object.fromEntries(fields.map((field) => [field, 'a new value']))
}

/**
 * Returns the state of renewal of a written context: that of a new token, or the earlier one if the token stays. A token that was stored without an OAuth app
 * counts as new.
 */
function renewalOf(
  { type, data }: ContextInput,
  before: ContextRow | undefined,
  now: number,
): Pick<ContextRow, 'expires_at' | 'renew_after' | 'problem' | 'refused_at'> {
  const lifetime = data['oauthExpiresIn']
  const none = { expires_at: null, renew_after: null, problem: null, refused_at: null }
  if (type !== 'git' || lifetime === undefined) return none
  const kept = data['password'] === MASK && before !== undefined ? expiryOf(before) : null
  const state = { ...none, expires_at: kept ?? now + Number(lifetime) * 1000 }
  // A changed app or secret may be what the forge refused, so the next renewal is at once. One in progress keeps its lease.
  const isKept = data['oauthRefreshToken'] === MASK && before !== undefined && hasLease(before)
  return isKept ? { ...state, renew_after: before.renew_after, problem: before.problem, refused_at: before.refused_at } : state
}

export async function listShownContexts(app: App): Promise<Context[]> {
  return (await listContexts(app.store.query, app.accountId)).map(toContext)
}

/** Deletes a context by id or name. Throws `not-found`. */
export async function removeContext(app: App, name: string): Promise<void> {
  await app.store.write(async (tx) => {
    const row = await findContext(tx.query, app.accountId, name)
    if (row === undefined) throw fault('not-found', { message: `The context "${name}" does not exist.` })
    await deleteContext(tx, row.id)
  })
}
