/** Routes of the rollouts of applications, as their runtimes have them now. Each is a call of the app-proxy of the runtime. */
import {
  page,
  Rollout,
  ROLLOUT_ACTIONS,
  RolloutActionInput,
  RolloutRollbackAvailability,
  RolloutRollbackInput,
  RolloutRollbackQuery,
  RolloutRolledBack,
  type RolloutKey,
} from '@windlass/protocol'
import { z } from 'zod'
import { route, type Route } from '../../route.ts'
import { ByApplication, CALLS_AT_ONCE, type AskApplication } from './ask-application.ts'

const ByAction = ByApplication.extend({ action: z.enum(ROLLOUT_ACTIONS) })

const List = page(Rollout)

export function rolloutRoutes(ask: AskApplication): Route[] {
  const read = { allow: 'see-gitops', scope: 'gitops:read', callsAtOnce: CALLS_AT_ONCE, params: ByApplication } as const
  const change = { allow: 'change-gitops', scope: 'gitops:write', callsAtOnce: CALLS_AT_ONCE } as const
  const subjectOf = ({ namespace, name }: RolloutKey): string => `rollout ${namespace}/${name}`
  return [
    route('GET', '/v1/applications/{id}/rollouts', {
      ...read,
      summary: 'List the rollouts of an application with their steps, revisions, and what can be done with them now',
      replies: { 200: List },
      handle: (call) => ask(call, { method: 'GET', part: '/rollouts', answer: List }),
    }),
    route('GET', '/v1/applications/{id}/rollouts/rollback', {
      ...read,
      summary: 'Tell whether an earlier revision of a rollout can be restored',
      query: RolloutRollbackQuery,
      replies: { 200: RolloutRollbackAvailability },
      handle: (call) =>
        ask(call, { method: 'GET', part: '/rollouts/rollback', query: call.query, answer: RolloutRollbackAvailability }),
    }),
    route('POST', '/v1/applications/{id}/rollouts/rollback', {
      ...change,
      summary: 'Restore an earlier revision of a rollout; the controller brings it by the same steps',
      params: ByApplication,
      body: RolloutRollbackInput,
      replies: { 200: RolloutRolledBack },
      handle: (call) =>
        ask(call, {
          method: 'POST',
          part: '/rollouts/rollback',
          body: call.body,
          subject: `revision ${call.body.revision} of the ${subjectOf(call.body)}`,
          answer: RolloutRolledBack,
        }),
    }),
    route('POST', '/v1/applications/{id}/rollouts/{action}', {
      ...change,
      summary: 'Pause, resume, promote, abort, retry or restart a rollout, or skip its step; refused if its state forbids it',
      params: ByAction,
      body: RolloutActionInput,
      replies: { 200: Rollout },
      handle: (call) =>
        ask(call, {
          method: 'POST',
          part: `/rollouts/${call.params.action}`,
          body: call.body,
          subject: subjectOf(call.body),
          answer: Rollout,
        }),
    }),
  ]
}
