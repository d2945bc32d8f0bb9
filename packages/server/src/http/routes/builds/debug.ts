/** Routes of the debugger: for users under `/v1/builds/{id}`, for engines under `/v1/engine/terminals`. */
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
  TerminalQuery,
  TerminalRecord,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { actOnHeld, changeDebug, describeDebug } from '../../../debug/debug.ts'
import { streamTerminal } from '../../../debug/stream.ts'
import { getTerminal, openTerminal, takeOutput, writeInput } from '../../../debug/terminals.ts'
import { nameOf, type Actor } from '../../../identity/actor.ts'
import { COMMAND_SCOPE } from '../../../identity/scopes.ts'
import { created, ok, route, type Route } from '../../route.ts'
import type { AttemptKey } from '../../../store/builds/attempts.ts'

const ById = z.object({ id: Id })
const ByTerminal = z.object({ id: Id, terminal: Id })
const OfEngine = z.object({ terminal: Id })
/** Maximum size of an input batch, which has at most a hundred parts. */
const MAX_INPUT_BYTES = 4_194_304

export function debugRoutes(app: App): Route[] {
  return [...forUsers(app), ...terminals(app), ...forEngines(app)]
}

function forUsers(app: App): Route[] {
  return [
    route('GET', '/v1/builds/{id}/debug', {
      summary: 'Show the breakpoints, holds and terminals of a build',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'build',
      params: ById,
      replies: { 200: DebugState },
      handle: async ({ params }) => ok(await describeDebug(app, params.id)),
    }),
    route('POST', '/v1/builds/{id}/debug', {
      summary: 'Set or clear breakpoints of a build',
      allow: 'debug-builds',
      scope: COMMAND_SCOPE,
      project: 'build',
      params: ById,
      body: DebugChange,
      replies: { 200: DebugState },
      async handle({ params, body, actor, settle }) {
        const call = { change: body, by: nameOf(actor) }
        return ok(await changeDebug(app, params.id, call, (tx, state) => settle(tx, ok(state))))
      },
    }),
    route('POST', '/v1/builds/{id}/debug/{step}/{action}', {
      summary: 'Continue, retry or fail a held step, or give it more time',
      allow: 'debug-builds',
      scope: COMMAND_SCOPE,
      project: 'build',
      params: z.object({ id: Id, step: z.string().max(150), action: z.enum(DEBUG_ACTIONS) }),
      replies: { 200: DebugState },
      async handle({ params: { id, step, action }, actor, settle }) {
        const call = { step, action, by: nameOf(actor) }
        return ok(await actOnHeld(app, id, call, (tx, state) => settle(tx, ok(state))))
      },
    }),
  ]
}

function terminals(app: App): Route[] {
  return [
    route('POST', '/v1/builds/{id}/terminals', {
      summary: 'Open a terminal in a held step',
      allow: 'debug-builds',
      scope: COMMAND_SCOPE,
      project: 'build',
      params: ById,
      body: TerminalInput,
      replies: { 201: TerminalRecord },
      async handle({ params, body, actor, settle }) {
        const call = { input: body, by: nameOf(actor) }
        return created(await openTerminal(app, params.id, call, (tx, terminal) => settle(tx, created(terminal))))
      },
    }),
    route('GET', '/v1/builds/{id}/terminals/{terminal}/output', {
      summary: 'Follow the output of a terminal (server-sent events; resume by the number of the last one)',
      allow: 'debug-builds',
      scope: COMMAND_SCOPE,
      project: 'build',
      params: ByTerminal,
      query: TerminalQuery,
      replies: { 200: 'text' },
      isHeld: true,
      async handle({ params, query, actor, reply, signal }) {
        const terminal = await getTerminal(app, { buildId: params.id }, params.terminal)
        using _reader = app.readers.take(actor)
        await streamTerminal(app, reply, { terminal, direction: 'out', after: query.after, signal })
        return 'stream'
      },
    }),
    route('POST', '/v1/builds/{id}/terminals/{terminal}/input', {
      summary: 'Send input to a terminal, or change its size',
      allow: 'debug-builds',
      scope: COMMAND_SCOPE,
      project: 'build',
      params: ByTerminal,
      unaudited: 'the call that opens the terminal is recorded',
      body: TerminalInputBatch,
      maxBodyBytes: MAX_INPUT_BYTES,
      replies: { 200: TerminalInputAck },
      async handle({ params, body }) {
        return ok({ seq: await writeInput(app, await getTerminal(app, { buildId: params.id }, params.terminal), body) })
      },
    }),
  ]
}

function forEngines(app: App): Route[] {
  return [
    route('GET', '/v1/engine/terminals/{terminal}/input', {
      summary: 'Follow the input of a terminal (server-sent events)',
      allow: 'attempt',
      scope: 'none',
      params: OfEngine,
      query: TerminalQuery,
      replies: { 200: 'text' },
      isHeld: true,
      async handle({ params, query, actor, reply, signal }) {
        const terminal = await getTerminal(app, attemptOf(actor), params.terminal)
        await streamTerminal(app, reply, { terminal, direction: 'in', after: query.after, signal })
        return 'stream'
      },
    }),
    route('POST', '/v1/engine/terminals/{terminal}/output', {
      summary: 'Send the output of a terminal, or its end',
      allow: 'attempt',
      scope: 'none',
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
