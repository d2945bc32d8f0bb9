/** One action with several builds. Each build has its own transaction, and its own result. */
import { fault, isFault } from '@windlass/kit'
import {
  Build,
  BuildInput,
  type BuildAction,
  type BuildActionInput,
  type BuildActionResults,
  type Right,
} from '@windlass/protocol'
import type { z } from 'zod'
import { noteDetail } from '../../audit/call.ts'
import type { App } from '../../app.ts'
import type { Answer, Call } from '../../http/route.ts'
import { runPart } from '../../http/openapi/repeat-parts.ts'
import { nameOf, placesOf, requireRight, type Actor } from '../../identity/actor.ts'
import { findBuild } from '../../store/builds/builds.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import type { Within } from '../../store/store.ts'
import { startBuild } from '../create/start.ts'
import { decideApproval } from '../lifecycle/approve.ts'
import { terminateBuild } from '../lifecycle/ends/terminate.ts'
import { toBuild } from '../lifecycle/view.ts'
import { isWithin, placeOf } from '../../store/places.ts'

const RIGHT_OF: Readonly<Record<BuildAction, Right>> = {
  terminate: 'end-builds',
  restart: 'start-builds',
  'restart-failed': 'start-builds',
  approve: 'decide-approvals',
  deny: 'decide-approvals',
}

export interface BulkCall {
  readonly actor: Actor
  readonly input: z.output<typeof BuildActionInput>
  /** Idempotency-Key of the call. */
  readonly key: string | undefined
  readonly settle: Call<unknown, unknown, unknown>['settle']
}

/**
 * Carries out the action with each build once and returns a result for each. Builds that refuse it have a problem. Throws errors that a repetition of the call
 * may avoid; a repetition with the key continues with the builds that have no result.
 */
export async function actOnBuilds(app: App, call: BulkCall): Promise<BuildActionResults> {
  const { input } = call
  const ids = [...new Set(input.ids)]
  noteDetail(`${input.action} ${ids.join(', ')}`)
  const items: BuildActionResults['items'] = []
  for (const id of ids) items.push(await actOnOne(app, call, id))
  const results = { items }
  // A call without an effect stores nothing.
  if (items.some(({ build }) => build !== undefined))
    await app.store.write((tx) => call.settle(tx, { status: 200, body: results }))
  return results
}

async function actOnOne(app: App, call: BulkCall, id: string): Promise<BuildActionResults['items'][number]> {
  const { actor, input, key } = call
  try {
    await requireActionRight(app, actor, { id, right: RIGHT_OF[input.action] })
    const part = { key, name: `${input.action} ${id}` }
    const answer = await runPart(app, actor, part, async (settle) =>
      toAnswer(await act(app, { actor, input, id }, (tx, build) => settle(tx, toAnswer(build)))),
    )
    return { id, build: Build.parse(answer.body) }
  } catch (error) {
    if (!isFault(error) || error.retryable) throw error
    const { code, message, hint } = error
    return { id, problem: { code, message, hint } }
  }
}

function toAnswer(build: BuildRow): Answer {
  return { status: 200, body: toBuild(build) }
}

/** Throws `not-found` for a build that does not exist or that the caller must not see, `forbidden`. */
async function requireActionRight(app: App, actor: Actor, { id, right }: { id: string; right: Right }): Promise<void> {
  const row = await findBuild(app.store.query, app.accountId, id)
  const isSeen = row !== undefined && isWithin(placesOf(actor, 'see-builds'), placeOf(row))
  if (!isSeen) throw fault('not-found', { message: `Build ${id} does not exist.` })
  requireRight(actor, right, placeOf(row))
}

interface Act extends Pick<BulkCall, 'actor' | 'input'> {
  readonly id: string
}

async function act(app: App, { actor, input, id }: Act, within: Within<BuildRow>): Promise<BuildRow> {
  const { action, comment } = input
  switch (action) {
    case 'terminate':
      return terminateBuild(app, id, nameOf(actor), within)
    case 'restart':
    case 'restart-failed': {
      const request = BuildInput.parse({ restartOf: id, ...(action === 'restart-failed' && { restartFrom: 'failed' }) })
      return startBuild(app, { actor, request, kind: 'restart', within })
    }
    case 'approve':
    case 'deny':
      // The same decision changes nothing, so its answer needs no transaction.
      return decideApproval(app, id, {
        decision: action === 'approve' ? 'approved' : 'denied',
        by: { name: nameOf(actor), type: 'user' },
        comment,
      })
  }
}
