/** Calls the app-proxy of a GitOps runtime for a user, through its tunnel and with a pass. */
import { fault, isFault } from '@windlass/kit'
import { createClient, type Client, type Transport } from '@windlass/protocol'
import type { OwnAnswer, TunnelServer } from '@windlass/tunnel/server'
import type { App } from '../../app.ts'
import { issueRuntimePass } from '../../identity/keys/runtime-pass.ts'
import type { KeyActor } from '../../identity/actor.ts'
import { findGitopsRuntime } from '../../store/runtimes/gitops.ts'
import { prefixOf, unknownRuntime } from '../runtimes.ts'

export type CallRuntime = TunnelServer['call']

/** Longest answer, such as the differences of a large application. Bytes. */
const MAX_ANSWER_BYTES = 16_777_216

export interface RuntimeCaller {
  readonly actor: KeyActor
  /** Name of the runtime. */
  readonly runtime: string
  readonly isReadOnly: boolean
}

export interface RuntimeClient extends Client {
  readonly runtimeId: string
}

/** Returns a client of the app-proxy. Throws `not-found`, and `tunnel-offline` if this server has no tunnels. */
export async function openRuntimeClient(
  app: App,
  callRuntime: CallRuntime | undefined,
  { actor, runtime, isReadOnly }: RuntimeCaller,
): Promise<RuntimeClient> {
  const found = (await findGitopsRuntime(app.store.query, app.accountId, runtime)) ?? unknownRuntime(runtime)
  if (callRuntime === undefined)
    throw fault('tunnel-offline', {
      message: 'This server has no tunnels, so it cannot reach the GitOps runtime.',
      hint: 'Use the command line with the URL of the runtime: `windlass gitops app --help`. See docs/operate/tunnels.md for tunnels.',
    })
  const token = await issueRuntimePass(app, { actor, runtimeId: found.id, isReadOnly })
  const client = createClient({ url: 'http://runtime', token, transport: throughTunnel(callRuntime, prefixOf(app, runtime)) })
  return { ...client, runtimeId: found.id }
}

function throughTunnel(callRuntime: CallRuntime, prefix: string): Transport {
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
      text: () => readText(answer),
    }
  }
}

async function readText({ body }: OwnAnswer): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MAX_ANSWER_BYTES)
      throw fault('router-broken', {
        message: `The answer of the GitOps runtime is longer than ${MAX_ANSWER_BYTES / 1_048_576} MiB.`,
        hint: 'Use the command line: `windlass gitops app --help`.',
      })
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
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
