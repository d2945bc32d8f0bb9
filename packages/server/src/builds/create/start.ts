/** The start of a build for a caller: what the caller may ask for, and whether there is space for another build. */
import type { TriggerKind } from '@windlass/plan'
import type { App } from '../../app.ts'
import { nameOf, type Actor } from '../../identity/actor.ts'
import { readRuntimeAccess } from '../../runtimes/access.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import type { Within } from '../../store/store.ts'
import { requireSpace } from '../schedule/disk-space.ts'
import { authorizeBuild } from './authorize-build.ts'
import { createBuild, type AuthorizedInput } from './create.ts'

export interface Start {
  readonly actor: Actor
  readonly request: AuthorizedInput
  /** A build that steps start always has the kind `build`. */
  readonly kind: TriggerKind
  /** Runs in the same transaction. */
  readonly within?: Within<BuildRow> | undefined
}

/** Creates a build for the caller. Throws as `createBuild` and `authorizeBuild` do, and `storage-full`. */
export async function startBuild(app: App, { actor, request, kind, within }: Start): Promise<BuildRow> {
  await requireSpace(app)
  return createBuild(app, {
    request: await authorizeBuild(app, actor, request),
    trigger: { kind: actor.kind === 'build' ? 'build' : kind, name: request.trigger },
    initiator: nameOf(actor),
    access: await readRuntimeAccess(app, app.store.query, actor),
    within,
  })
}
