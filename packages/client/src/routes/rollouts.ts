/** Rollouts of applications of GitOps runtimes, as the runtimes have them now. The runtime must be connected. */
import {
  page,
  Rollout,
  ROLLOUT_ACTIONS,
  RolloutActionInput,
  RolloutRollbackAvailability,
  RolloutRollbackInput,
  RolloutRollbackQuery,
  RolloutRolledBack,
} from '@windlass/protocol'
import { z } from 'zod'
import { route } from '../route.ts'

export const rollouts = {
  list: route('GET', '/v1/applications/{id}/rollouts', { answer: page(Rollout) }),
  /** Tells whether an earlier revision can be restored. */
  rollbackAvailability: route('GET', '/v1/applications/{id}/rollouts/rollback', {
    query: RolloutRollbackQuery,
    answer: RolloutRollbackAvailability,
  }),
  /** Restores an earlier revision. */
  rollBack: route('POST', '/v1/applications/{id}/rollouts/rollback', { body: RolloutRollbackInput, answer: RolloutRolledBack }),
  act: route('POST', '/v1/applications/{id}/rollouts/{action}', {
    params: z.object({ action: z.enum(ROLLOUT_ACTIONS) }),
    body: RolloutActionInput,
    answer: Rollout,
  }),
}
