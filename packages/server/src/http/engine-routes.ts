/** Engine <-> server; the shapes and their meaning stand in `protocol/engine.ts`. */
import { fault } from '@windlass/kit'
import {
  CommandList,
  DockerAddress,
  EngineClaim,
  EngineClaimed,
  EngineDocument,
  EngineDocumentAnswer,
  EngineWait,
  EngineWaited,
  EventAck,
  EventBatch,
  FrameAck,
  FrameHead,
  HeartbeatAnswer,
  MAX_FRAME_BYTES,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { awaitCommands, awaitDockerHost, heartbeat } from '../builds/engine-link.ts'
import { claimAttempt, type AttemptKey } from '../builds/engine-claim.ts'
import { applyEvents } from '../builds/events.ts'
import { takeDocument } from '../documents/take-document.ts'
import type { Actor } from '../identity/actor.ts'
import { attemptOfPair, awaitBuild } from '../warm/pairs.ts'
import { ok, route, type Route } from './route.ts'

const MAX_BATCH_BYTES = 16_777_216

function attemptOf(actor: Actor): AttemptKey {
  if (actor.kind !== 'attempt' && actor.kind !== 'bootstrap') throw fault('forbidden')
  return { buildId: actor.buildId, attempt: actor.attempt }
}

export function engineRoutes(app: App): Route[] {
  return [
    route('POST', '/v1/engine/claim', {
      summary: 'Exchange a bootstrap credential for the plan and an attempt token',
      allow: 'bootstrap',
      body: EngineClaim,
      replies: { 200: EngineClaimed },
      handle: async ({ body, actor }) =>
        ok(await claimAttempt(app, await attemptOfPair(app.store.query, attemptOf(actor)), body)),
    }),
    route('POST', '/v1/engine/wait', {
      summary: 'Wait, as the engine of a warm pair, for a build',
      allow: 'bootstrap',
      body: EngineWait,
      replies: { 200: EngineWaited },
      isHeld: true,
      handle: async ({ body: { waitMs }, actor, signal }) =>
        ok({ assigned: await awaitBuild(app, attemptOf(actor).buildId, { waitMs, signal }) }),
    }),
    route('POST', '/v1/engine/document', {
      summary: 'Give the document of a plan whose steps stand in a repository; answers the plan',
      allow: 'attempt',
      body: EngineDocument,
      maxBodyBytes: 2 * 1_048_576 + 1024,
      replies: { 200: EngineDocumentAnswer },
      handle: async ({ body, actor }) => ok(await takeDocument(app, attemptOf(actor), body.text)),
    }),
    route('POST', '/v1/engine/events', {
      summary: 'Tell events of an attempt',
      allow: 'attempt',
      body: EventBatch,
      maxBodyBytes: MAX_BATCH_BYTES,
      replies: { 200: EventAck },
      handle: async ({ body, actor }) => ok({ ackSeq: await applyEvents(app, attemptOf(actor), body.events) }),
    }),
    route('POST', '/v1/engine/logs', {
      summary: 'Send a frame of log',
      allow: 'attempt',
      body: z.instanceof(Uint8Array),
      takesBytes: true,
      maxBodyBytes: MAX_FRAME_BYTES,
      replies: { 200: FrameAck },
      handle: async ({ body, headers, actor }) =>
        ok({ offset: await app.logs.append({ ...attemptOf(actor), ...readHead(headers), bytes: toBytes(body) }) }),
    }),
    route('POST', '/v1/engine/heartbeat', {
      summary: 'Say that the engine of an attempt lives',
      allow: 'attempt',
      replies: { 200: HeartbeatAnswer },
      handle: async ({ actor }) => ok({ leaseMs: await heartbeat(app, attemptOf(actor)) }),
    }),
    route('GET', '/v1/engine/commands', {
      summary: 'Wait for commands to an attempt',
      allow: 'attempt',
      query: z.object({
        after: z.coerce.number().int().nonnegative().default(0),
        waitMs: z.coerce.number().int().min(0).max(60_000).default(0),
      }),
      replies: { 200: CommandList },
      isHeld: true,
      handle: async ({ query, actor, signal }) =>
        ok({ commands: await awaitCommands(app, attemptOf(actor), { ...query, signal }) }),
    }),
    route('GET', '/v1/engine/docker', {
      summary: 'Wait for the address of the Docker daemon of an attempt',
      allow: 'attempt',
      query: z.object({ waitMs: z.coerce.number().int().min(0).max(60_000).default(0) }),
      replies: { 200: DockerAddress },
      isHeld: true,
      handle: async ({ query, actor, signal }) => {
        const host = await awaitDockerHost(app, attemptOf(actor), { ...query, signal })
        return ok(host === undefined ? {} : { host })
      },
    }),
  ]
}

function readHead(headers: Readonly<Record<string, string | string[] | undefined>>): FrameHead {
  const head = FrameHead.safeParse({
    stream: decode(headers['x-windlass-stream']),
    offset: headers['x-windlass-offset'],
    sha256: headers['x-windlass-sha256'],
    at: headers['x-windlass-at'],
  })
  if (head.success) return head.data
  const problems = head.error.issues.map(({ path, message }) => ({ path: `x-windlass-${path.join('.')}`, message }))
  throw fault('request-invalid', {
    message: `The headers of the frame are wrong: ${problems[0]?.path} ${problems[0]?.message}.`,
    problems,
  })
}

/** Names of steps may hold any character, header values may not: they come percent-encoded. */
function decode(value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string') return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}

function toBytes(body: unknown): Uint8Array {
  return body instanceof Uint8Array ? body : new Uint8Array()
}
