/** Routes of the rollouts of applications. */
import {
  ApplicationName,
  ROLLOUT_ACTIONS,
  RolloutActionInput,
  RolloutRollbackInput,
  RolloutRollbackQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import type { Rollouts } from '../argo/rollouts.ts'
import { noArgoCd } from './no-argo-cd.ts'
import { route, type Route } from './route.ts'

const ByName = z.object({ name: ApplicationName })
const ByAction = ByName.extend({ action: z.enum(ROLLOUT_ACTIONS) })

export interface RolloutParts {
  /** Undefined if the app-proxy does not know the server of Argo CD. */
  readonly rollouts: Rollouts | undefined
}

export function rolloutRoutes(parts: RolloutParts): Route[] {
  /** Throws `not-supported`. */
  const rollouts = (): Rollouts => {
    if (parts.rollouts !== undefined) return parts.rollouts
    throw noArgoCd()
  }
  return [
    route('GET', '/applications/{name}/rollouts', {
      right: 'see-gitops',
      params: ByName,
      handle: async ({ params }) => ({ items: await rollouts().list(params.name) }),
    }),
    route('GET', '/applications/{name}/rollouts/rollback', {
      right: 'see-gitops',
      params: ByName,
      query: RolloutRollbackQuery,
      handle: ({ params, query }) => rollouts().availability(params.name, query),
    }),
    route('POST', '/applications/{name}/rollouts/rollback', {
      right: 'change-gitops',
      isWrite: true,
      params: ByName,
      body: RolloutRollbackInput,
      handle: ({ params, body }) => rollouts().rollBack(params.name, body),
    }),
    route('POST', '/applications/{name}/rollouts/{action}', {
      right: 'change-gitops',
      isWrite: true,
      params: ByAction,
      body: RolloutActionInput,
      handle: ({ params, body }) => rollouts().act(params.name, params.action, body),
    }),
  ]
}
