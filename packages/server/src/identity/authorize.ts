/** The check of every call before its body is read: the kind of credential, the right of the role, the project and pipeline, and the scope of a limited key. */
import { fault } from '@windlass/kit'
import type { App } from '../app.ts'
import type { Route } from '../http/route.ts'
import { hidden, isAllowed, isRight, mayActSomewhere, requireRight, type Actor } from './actor.ts'
import { findPlaceOf } from './place-of.ts'
import { requireScope } from './scopes.ts'
import { isForSteps } from './step-rights.ts'

type Called = Pick<Route, 'method' | 'path' | 'spec'>

/**
 * Throws unless the actor may make this call: `unauthenticated` without a credential, `forbidden`, `scope-missing`, and `not-found` for a resource for which the
 * caller has no role. The handlers of routes with the project source `handler` check the project and pipeline themselves.
 */
export async function authorize(app: App, actor: Actor, { method, path, spec }: Called, params: unknown): Promise<void> {
  const { allow, scope, project } = spec
  const isStep = actor.kind === 'build' && isForSteps({ method, path })
  if (!isAllowed(actor, allow) && !isStep) {
    if (actor.kind === 'nobody') throw fault('unauthenticated')
    if (project === undefined || actor.kind !== 'key' || !isRight(allow)) throw fault('forbidden')
    if (project === 'handler') requireSomePlace(actor, allow)
    else {
      const place = await findPlaceOf(app, project, params as Readonly<Record<string, string | undefined>>)
      if (place === undefined) throw actor.role === 'none' ? hidden() : fault('forbidden')
      requireRight(actor, allow, place)
    }
  }
  if (scope !== 'none') requireScope(actor, scope)
}

function requireSomePlace(actor: Actor, allow: Called['spec']['allow']): void {
  if (!mayActSomewhere(actor, allow)) throw fault('forbidden')
}
