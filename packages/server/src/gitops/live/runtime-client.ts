/**
 * Calls the app-proxy of a GitOps runtime for a user, through its tunnel and with a pass. Everything that the runtime answers has limits: what controls its cluster must not
 * take the memory of this server.
 */
import { excessOf, fault, isFault, type Clock } from '@windlass/kit'
import { createClient, type Client, type Transport } from '@windlass/protocol'
import type { OwnAnswer, TunnelServer } from '@windlass/tunnel/server'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { Callers } from '../../documents/caller-limits.ts'
import { callerOf, type KeyActor } from '../../identity/actor.ts'
import { issueRuntimePass } from '../../identity/keys/runtime-pass.ts'
import { findGitopsRuntime } from '../../store/runtimes/gitops.ts'
import { prefixOf, unknownRuntime } from '../runtimes.ts'

export type CallRuntime = TunnelServer['call']

/** Longest answer, such as the differences of a large application. Bytes. */
const MAX_ANSWER_BYTES = 16_777_216
/** Fields and list items of an answer. A tree of 5,000 objects has about half of it. */
const MAX_ANSWER_PARTS = 200_000
/** Bytes that an answer claims at once. */
const CLAIM_BYTES = 1_048_576
/** Bytes of the answers of all callers. One caller may use a quarter: one longest answer. */
const ANSWERS_AT_ONCE_BYTES = 4 * MAX_ANSWER_BYTES

/** How this server calls runtimes. */
export interface RuntimeCalls {
  /** Undefined if this server has no tunnels. */
  readonly call: CallRuntime | undefined
  /** The answers that are in memory. */
  readonly answers: Callers
}

export function openRuntimeCalls(clock: Clock, call: CallRuntime | undefined): RuntimeCalls {
  const noLimit = { callsAtOnce: Number.POSITIVE_INFINITY, msPerMinute: Number.POSITIVE_INFINITY }
  return { call, answers: new Callers(clock, { ...noLimit, bytesAtOnce: ANSWERS_AT_ONCE_BYTES }, 'answers of GitOps runtimes') }
}

export interface RuntimeCaller {
  readonly actor: KeyActor
  /** Name of the runtime. */
  readonly runtime: string
  readonly isReadOnly: boolean
}

export interface RuntimeClient extends Client {
  readonly runtimeId: string
}

/**
 * Calls `work` with a client of the app-proxy. Its answers count as memory of the caller until the work ends. Throws `not-found`, `tunnel-offline` if this server has no
 * tunnels, and `rate-limited` if too many answers are in memory.
 */
export async function withRuntimeClient<T>(
  app: App,
  { call, answers }: RuntimeCalls,
  { actor, runtime, isReadOnly }: RuntimeCaller,
  work: (client: RuntimeClient) => Promise<T>,
): Promise<T> {
  const found = (await findGitopsRuntime(app.store.query, app.accountId, runtime)) ?? unknownRuntime(runtime)
  if (call === undefined)
    throw fault('tunnel-offline', {
      message: 'This server has no tunnels, so it cannot reach the GitOps runtime.',
      hint: 'Use the command line with the URL of the runtime: `windlass gitops app --help`. See docs/operate/tunnels.md for tunnels.',
    })
  const token = await issueRuntimePass(app, { actor, runtimeId: found.id, isReadOnly })
  const claims: (() => void)[] = []
  const claim = (): void => void claims.push(answers.enter(callerOf(actor), CLAIM_BYTES))
  const transport = throughTunnel(call, prefixOf(app, runtime), claim)
  try {
    return await work({ ...createClient({ url: 'http://runtime', token, transport }), runtimeId: found.id })
  } finally {
    for (const release of claims) release()
  }
}

function throughTunnel(callRuntime: CallRuntime, prefix: string, claim: () => void): Transport {
  return async ({ method, url, headers, body, signal, timeoutMs }) => {
    const { pathname, search } = new URL(url)
    const limits = [signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)]
    const answer = await callRuntime(prefix, {
      method,
      path: pathname + search,
      headers: { ...headers },
      body: typeof body === 'string' ? Buffer.from(body) : body,
      signal: AbortSignal.any(limits.filter((one) => one !== undefined)),
    })
    return {
      status: answer.status,
      headers: Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)])),
      body: answer.body,
      text: () => readText(answer, claim),
    }
  }
}

async function readText({ body }: OwnAnswer, claim: () => void): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  let claimed = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MAX_ANSWER_BYTES) throw tooLarge(`is longer than ${MAX_ANSWER_BYTES / 1_048_576} MiB`)
    for (; claimed < bytes; claimed += CLAIM_BYTES) claim()
    parts.push(part)
  }
  const text = Buffer.concat(parts).toString()
  const excess = excessOf(text, { max: MAX_ANSWER_PARTS, left: MAX_ANSWER_PARTS })
  if (excess === 'parts') throw tooLarge(`has more than ${MAX_ANSWER_PARTS.toLocaleString('en')} fields and list items`)
  if (excess === 'levels') throw tooLarge('has too many lists and objects inside each other')
  return text
}

/**
 * Returns the answer as its schema has it. Throws `router-broken`. Looks for the first problem only: an answer with 200,000 empty items would have as many, and describing them takes the memory of
 * the server.
 */
export function requireValid<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  if (schema.validate(value)) return schema.parse(value)
  throw fault('router-broken', {
    message: 'The answer of the GitOps runtime is not valid.',
    hint: 'Upgrade the older one of the server and the runtime: `windlass gitops upgrade RUNTIME`.',
  })
}

function tooLarge(why: string): Error {
  return fault('router-broken', {
    message: `The answer of the GitOps runtime ${why}.`,
    hint: 'Use the command line: `windlass gitops app --help`.',
  })
}

/** Codes of the client and of the app-proxy that would mean something else as the answer of this server. */
const FOREIGN = ['unauthenticated', 'proxy-answered', 'server-unreachable', 'internal'] as const

/** What an app-proxy says of a path that it does not have, as earlier versions of it do of routes that are new. */
const NO_PATH = /does not have this path/

/** Throws what a call of an app-proxy failed with. Refusals of Argo CD and of the app-proxy stay as they are. */
export function throwForCaller(error: unknown): never {
  if (isFault(error, 'not-found') && NO_PATH.test(error.message))
    throw fault(
      'not-supported',
      {
        message: 'The app-proxy of the GitOps runtime has an earlier version, which cannot do this.',
        hint: 'Upgrade the runtime: `windlass gitops upgrade RUNTIME`.',
      },
      error,
    )
  if (!isFault(error, ...FOREIGN)) throw error
  if (error.code === 'server-unreachable') throw fault('tunnel-broken', {}, error)
  const message = `The app-proxy of the GitOps runtime did not carry out the call. ${error.message}`
  throw fault('router-broken', { message }, error)
}
