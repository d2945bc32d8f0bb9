/** GitOps runtimes and their tokens. A runtime exists from its first token until it is deleted. */
import { defined, fault, newId, newToken, parseToken, tokenMatches } from '@windlass/kit'
import type { GitopsToken, GitopsTokenCreated, GitopsTokenInput } from '@windlass/protocol'
import type { App } from '../app.ts'
import { noteSubject } from '../audit/call.ts'
import { lockAccount } from '../store/account/accounts.ts'
import {
  countGitopsRuntimes,
  deleteGitopsRuntime,
  deleteGitopsToken,
  findGitopsRuntime,
  findGitopsToken,
  insertGitopsRuntime,
  insertGitopsToken,
  listGitopsTokens,
  lockGitopsRuntime,
  updateGitopsRuntime,
  type NamedToken,
} from '../store/runtimes/gitops.ts'
import type { GitopsRuntimeRow, GitopsTokenRow } from '../store/schema/schema.ts'
import type { Query, Tx, Within } from '../store/store.ts'

/** Runtimes of an account. */
const MAX_RUNTIMES = 1_000
/** Tokens of a runtime: one in use, one that replaces it, and some that were forgotten. */
const MAX_TOKENS = 20

/** Topic that is woken when the tunnel of a runtime may have to end. */
export const TUNNEL_TOPIC = 'tunnel/'

export function tunnelTopic(runtimeId: string): string {
  return `${TUNNEL_TOPIC}${runtimeId}`
}

/** Label of the host of a runtime. */
export function prefixOf(app: Pick<App, 'accountId'>, runtime: string): string {
  return `${app.accountId}-${runtime}`
}

export interface NewToken extends GitopsTokenInput {
  readonly runtime: string
  readonly by: string
}

/**
 * Creates a token, which cannot be read again, and the runtime if it does not exist. `within` runs in the same transaction. Throws `conflict` if there are too many
 * of either, and for a runtime that must be new and exists.
 */
export async function createGitopsToken(
  app: App,
  { runtime: name, by, installation, isNew }: NewToken,
  within?: Within<GitopsTokenCreated>,
): Promise<GitopsTokenCreated> {
  return app.store.write(async (tx) => {
    // Two calls for a new runtime would both insert it.
    await lockAccount(tx, app.accountId)
    const now = app.clock.now()
    const found = await lockGitopsRuntime(tx, app.accountId, name)
    if (found !== undefined && isNew === true)
      throw fault('conflict', {
        message: `The GitOps runtime "${name}" exists already.`,
        hint: 'Use another name, or delete it first with `windlass gitops delete RUNTIME`.',
      })
    const runtime = found ?? (await addRuntime(app, tx, { name, by }))
    // A new installation also ends the errors of the one before it.
    if (installation !== undefined)
      await updateGitopsRuntime(tx, runtime.id, { installation: JSON.stringify(installation), errors: '[]' })
    const token = newToken(now)
    const row: GitopsTokenRow = {
      id: token.id,
      account_id: app.accountId,
      runtime_id: runtime.id,
      hash: token.hash,
      created_by: by,
      created_at: now,
    }
    const created: GitopsTokenCreated = {
      ...toToken(row, name),
      token: token.text,
      ...defined({ url: app.tunnels?.urlOf(prefixOf(app, name)), registerUrl: app.tunnels?.registerUrl }),
    }
    await within?.(tx, created)
    if ((await listGitopsTokens(tx.query, runtime.id)).length >= MAX_TOKENS)
      throw fault('conflict', {
        message: `The runtime "${name}" has ${MAX_TOKENS} tokens.`,
        hint: `Delete one with \`windlass gitops token delete ${name} ID\`.`,
      })
    await insertGitopsToken(tx, row)
    noteSubject(`token ${token.id} of GitOps runtime ${name}`)
    return created
  })
}

async function addRuntime(
  app: App,
  tx: Tx,
  { name, by }: { readonly name: string; readonly by: string },
): Promise<GitopsRuntimeRow> {
  if ((await countGitopsRuntimes(tx.query, app.accountId)) >= MAX_RUNTIMES)
    throw fault('conflict', {
      message: `There are ${MAX_RUNTIMES} GitOps runtimes.`,
      hint: 'Delete those that are not used: `windlass gitops delete RUNTIME`.',
    })
  const now = app.clock.now()
  const row = {
    id: newId(now),
    account_id: app.accountId,
    name,
    installation: '{}',
    errors: '[]',
    created_by: by,
    created_at: now,
  }
  await insertGitopsRuntime(tx, row)
  return row
}

/** Lists the tokens of a runtime, oldest first. Throws `not-found`. */
export async function listTokens(app: App, name: string): Promise<GitopsToken[]> {
  const runtime = await requireGitopsRuntime(app, app.store.query, name)
  return (await listGitopsTokens(app.store.query, runtime.id)).map((row) => toToken(row, name))
}

/** Deletes a token and ends a connection that uses it. Throws `not-found`. */
export async function deleteToken(app: App, name: string, id: string): Promise<void> {
  await app.store.write(async (tx) => {
    const runtime = await lockRuntime(app, tx, name)
    if (!(await deleteGitopsToken(tx, runtime.id, id)))
      throw fault('not-found', {
        message: `The runtime "${name}" does not have the token ${id}.`,
        hint: `List them with \`windlass gitops token list ${name}\`.`,
      })
    tx.wake(tunnelTopic(runtime.id))
    noteSubject(`token ${id} of GitOps runtime ${name}`)
  })
}

/** Deletes a runtime with its tokens, and ends its connection. Its name is free then. Throws `not-found`. */
export async function removeGitopsRuntime(app: App, name: string): Promise<void> {
  await app.store.write(async (tx) => {
    const runtime = await lockRuntime(app, tx, name)
    await deleteGitopsRuntime(tx, runtime.id)
    tx.wake(tunnelTopic(runtime.id))
    noteSubject(`GitOps runtime ${name}`)
  })
}

/** Returns the token of a runtime with this text; undefined if it is not valid. */
export async function findRuntimeToken(app: App, text: string): Promise<NamedToken | undefined> {
  const token = parseToken(text)
  const known = token === undefined ? undefined : await findGitopsToken(app.store.query, token.id)
  const isValid = token !== undefined && known?.account_id === app.accountId && tokenMatches(token.secret, known.hash)
  return isValid ? known : undefined
}

/** Returns a runtime, locked. Throws `not-found`. */
export async function lockRuntime(app: App, tx: Tx, name: string): Promise<GitopsRuntimeRow> {
  return (await lockGitopsRuntime(tx, app.accountId, name)) ?? unknownRuntime(name)
}

async function requireGitopsRuntime(app: App, query: Query, name: string): Promise<GitopsRuntimeRow> {
  return (await findGitopsRuntime(query, app.accountId, name)) ?? unknownRuntime(name)
}

/** Throws `not-found`. */
export function unknownRuntime(name: string): never {
  throw fault('not-found', {
    message: `The GitOps runtime "${name}" does not exist.`,
    hint: 'List them with `windlass get tunnels`.',
  })
}

function toToken(row: GitopsTokenRow, runtime: string): GitopsToken {
  return { id: row.id, runtime, createdBy: row.created_by, createdAt: row.created_at }
}
