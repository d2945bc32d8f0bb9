/** What the fields of the schema get besides their arguments. */
import type { App } from '../../app.ts'
import type { Actor } from '../../identity/actor.ts'
import type { Route } from '../route.ts'
import type { CallRoute } from './call-route.ts'

export interface PlatformCall {
  readonly app: App
  readonly actor: Actor
  /** By method and path. */
  readonly routes: ReadonlyMap<string, Route>
  readonly callRoute: CallRoute
  readonly requestId: string
}
