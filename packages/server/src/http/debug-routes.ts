/** The debugger: for people under `/v1/builds/{id}`, for engines under `/v1/engine/terminals`. */
import { fault } from '@windlass/kit'
import {
  DEBUG_ACTIONS,
  DebugChange,
  DebugState,
  Id,
  TerminalInput,
  TerminalInputAck,
  TerminalInputBatch,
  TerminalOutput,
  TerminalOutputAck,
  TerminalRecord,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import type { AttemptKey } from '../builds/engine-claim.ts'
import { actOnHeld, changeDebug, describeDebug } from '../debug/debug.ts'
import { streamTerminal } from '../debug/stream.ts'
import { getTerminal, openTerminal, takeOutput, typeInto } from '../debug/terminals.ts'
import type { Actor } from '../identity/actor.ts'
import { nameOf } from './build-routes.ts'
import { created, ok, route, type Route } from './route.ts'

const ById = z.object({ id: Id })
const ByTerminal = z.object({ id: Id, terminal: Id })
const OfEngine = z.object({ terminal: Id })
const After = z.object({ after: z.coerce.number().int().nonnegative().default(0) })
/** Keys come a hundred parts at a time at most. */
const MAX_INPUT_BYTES = 4_194_304

export function debugRoutes(app: App): Route[] {
  return [...forPeople(app), ...terminals(app), ...forEngines(app)]
}

function forPeople(app: App): Route[] {
  return [
    route('GET', '/v1/builds/{id}/debug', {
      summary: 'Show where a build stops for the debugger, what is held, and its terminals',
      allow: 'viewer',
      params: ById,
      replies: { 200: DebugState },
      handle: async ({ params }) => ok(await describeDebug(app, params.id)),
    }),
    route('POST', '/v1/builds/{id}/debug', {
      summary: 'Set or clear where a build stops for the debugger',
      allow: 'user',
      params: ById,
      body: DebugChange,
      replies: { 200: DebugState },
      async handle({ params, body, actor }) {
        await changeDebug(app, params.id, { change: body, by: nameOf(actor) })
        return ok(await describeDebug(app, params.id))
      },
    }),
    route('POST', '/v1/builds/{id}/debug/{step}/{action}', {
      summary: 'Let a held step go on, be tried again or fail, or give it more time',
      allow: 'user',
      params: z.object({ id: Id, step: z.string().max(150), action: z.enum(DEBUG_ACTIONS) }),
      replies: { 200: DebugState },
      async handle({ params: { id, step, action }, actor }) {
        await actOnHeld(app, id, { step, action, by: nameOf(actor) })
        return ok(await describeDebug(app, id))
      },
    }),
  ]
}

function terminals(app: App): Route[] {
  return [
    route('POST', '/v1/builds/{id}/terminals', {
      summary: 'Open a terminal in a held step',
      allow: 'user',
      params: ById,
      body: TerminalInput,
      replies: { 201: TerminalRecord },
      handle: async ({ params, body, actor }) => created(await openTerminal(app, params.id, { input: body, by: nameOf(actor) })),
    }),
    route('GET', '/v1/builds/{id}/terminals/{terminal}/output', {
      summary: 'Follow what a terminal shows (server-sent events; resume by the number of the last one)',
      allow: 'user',
      params: ByTerminal,
      query: After,
      replies: { 200: 'text' },
      isHeld: true,
      async handle({ params, query, reply, signal }) {
        const terminal = await getTerminal(app, params.id, params.terminal)
        await streamTerminal(app, reply, { terminal, direction: 'out', after: query.after, signal })
        return 'stream'
      },
    }),
    route('POST', '/v1/builds/{id}/terminals/{terminal}/input', {
      summary: 'Type into a terminal, or change its size',
      allow: 'user',
      params: ByTerminal,
      body: TerminalInputBatch,
      maxBodyBytes: MAX_INPUT_BYTES,
      replies: { 200: TerminalInputAck },
      async handle({ params, body }) {
        return ok({ seq: await typeInto(app, await getTerminal(app, params.id, params.terminal), body) })
      },
    }),
  ]
}

function forEngines(app: App): Route[] {
  return [
    route('GET', '/v1/engine/terminals/{terminal}/input', {
      summary: 'Follow what is typed into a terminal (server-sent events)',
      allow: 'attempt',
      params: OfEngine,
      query: After,
      replies: { 200: 'text' },
      isHeld: true,
      async handle({ params, query, actor, reply, signal }) {
        const terminal = await getTerminal(app, attemptOf(actor).buildId, params.terminal)
        await streamTerminal(app, reply, { terminal, direction: 'in', after: query.after, signal })
        return 'stream'
      },
    }),
    route('POST', '/v1/engine/terminals/{terminal}/output', {
      summary: 'Send what a terminal shows, or its end',
      allow: 'attempt',
      params: OfEngine,
      body: TerminalOutput,
      replies: { 200: TerminalOutputAck },
      isHeld: true,
      handle: async ({ params, body, actor, signal }) =>
        ok({ seq: await takeOutput(app, attemptOf(actor), { id: params.terminal, output: body, signal }) }),
    }),
  ]
}

function attemptOf(actor: Actor): AttemptKey {
  if (actor.kind !== 'attempt') throw fault('forbidden')
  return { buildId: actor.buildId, attempt: actor.attempt }
}
