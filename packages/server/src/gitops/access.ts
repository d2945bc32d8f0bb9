/** Tells the app-proxy of a GitOps runtime who a caller is and which rights the caller has (docs/development/adr/0127-app-proxy.md). */
import { fault } from '@windlass/kit'
import { GITOPS_RIGHTS, type GitopsAccess } from '@windlass/protocol'
import type { App } from '../app.ts'
import { hasScope, isAllowed, type Actor } from '../identity/actor.ts'
import { findRuntimeToken } from './runtimes.ts'

interface Question {
  readonly runtime: string
  readonly runtimeToken: string
}

/**
 * Returns what the caller may do at the runtime. Throws `runtime-token-invalid` unless the token belongs to the runtime, and `forbidden` for a caller of another
 * account.
 */
export async function describeAccess(app: App, actor: Actor, { runtime, runtimeToken }: Question): Promise<GitopsAccess> {
  const known = await findRuntimeToken(app, runtimeToken)
  if (known === undefined) throw fault('runtime-token-invalid')
  if (known.runtime !== runtime)
    throw fault('runtime-token-invalid', { message: `The token is not one of the GitOps runtime "${runtime}".` })
  if (actor.kind !== 'key' || actor.accountId !== known.account_id)
    throw fault('forbidden', { message: `The credential belongs to another account than the GitOps runtime "${runtime}".` })
  if (actor.onlyAt !== undefined && actor.onlyAt !== known.runtime_id)
    throw fault('unauthenticated', { message: `The pass is not one for the GitOps runtime "${runtime}".` })
  const isReadOnly = !hasScope(actor, 'gitops:write')
  return {
    accountId: known.account_id,
    runtime,
    user: { id: actor.owner?.id ?? actor.id, name: actor.owner?.name ?? actor.name },
    rights: GITOPS_RIGHTS.filter((right) => isAllowed(actor, right) && (right === 'see-gitops' || !isReadOnly)),
    isReadOnly,
  }
}
