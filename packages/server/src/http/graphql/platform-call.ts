/** What the fields of the schema get besides their arguments. */
import { field, type Field } from '@windlass/graphql'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import type { Actor } from '../../identity/actor.ts'
import type { CallRoute, RequireRoute } from './call-route.ts'

export interface PlatformCall {
  readonly app: App
  readonly actor: Actor
  readonly callRoute: CallRoute
  readonly requireRoute: RequireRoute
  readonly requestId: string
  /** Counts the request as one for a list until it is answered. Throws `rate-limited` if the caller has too many of them. */
  readonly enterList: () => void
}

/** A field that reads as much as a page can have. A caller asks for few of them at once. */
export function listField<A extends z.ZodType>(
  shape: A,
  resolve: (args: z.output<A>, call: PlatformCall) => Promise<unknown>,
): Field<PlatformCall> {
  return field(shape, async (args, call: PlatformCall) => {
    call.enterList()
    return resolve(args, call)
  })
}
