/** Chooses the protocol that the server speaks. */
import { backoffMs, fault, isFault, type Clock, type Logger } from '@windlass/kit'
import { AGENT_ROUTES } from '@windlass/client/agent'
import type { Client } from '@windlass/protocol'
import type { ProtocolMemory } from './protocol-memory.ts'
import type { Platform } from './v1/platform.ts'

export interface ChooseOptions {
  /** Client of protocol v2. */
  readonly client: Client
  /** Client of protocol v1; undefined if the agent has no id. */
  readonly platform: Platform | undefined
  readonly memory: ProtocolMemory
  readonly clock: Clock
  readonly log: Logger
}

/** Answers to the hello that leave open whether the server speaks v2. */
const UNDECIDED = [
  'not-found',
  'proxy-answered',
  'unauthenticated',
  'forbidden',
  'server-unreachable',
  'unavailable',
  'rate-limited',
] as const

/** Answers of a server that does not speak v2. A platform that speaks only v1 looks like a proxy. */
const NOT_V2 = ['not-found', 'proxy-answered', 'unauthenticated', 'forbidden'] as const

/**
 * Returns v2 for a server that has spoken it before, without asking it. Otherwise sends an empty hello until an answer decides: a server
 * that speaks v2 refuses it as invalid and changes nothing. If the path is not found, a proxy answers, or the token is unknown, the agent sends a
 * heartbeat of v1 and uses v1 if the server accepts it and then answers another hello like the first one: an ingress may have answered the first hello
 * itself and passed the heartbeat to a server of v2. If the heartbeat is refused, an unknown token means v2, and after the other answers the agent asks
 * again. Throws `config-invalid` if v1 is needed and the agent has no id, and the reason of the signal.
 */
export async function chooseProtocol(options: ChooseOptions, signal: AbortSignal): Promise<'v1' | 'v2'> {
  const { client, platform, memory, clock, log } = options
  if (await memory.hasSpokenV2(signal)) {
    log.info('the server has spoken protocol v2 before, so protocol v1 is not used; set WINDLASS_AGENT_PROTOCOL=v1 to allow it')
    return 'v2'
  }
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted()
    const refusal = await sayHello(client, signal)
    if (!isFault(refusal, ...UNDECIDED)) return 'v2'
    if (isFault(refusal, 'not-found') && platform === undefined)
      throw fault('config-invalid', {
        message: `${client.url} does not speak protocol v2, and v1 needs the id of this agent.`,
        hint: 'Set WINDLASS_AGENT_ID (or AGENT_ID), or check the URL of the server.',
      })
    if (isFault(refusal, ...NOT_V2)) {
      const isV1 = await answers(platform, signal)
      if (!isV1 && isFault(refusal, 'unauthenticated', 'forbidden')) return 'v2'
      const again = isV1 ? await sayHello(client, signal) : refusal
      if (!isFault(again, ...UNDECIDED)) return 'v2'
      if (isV1 && isFault(again, ...NOT_V2)) return 'v1'
    }
    const need = platform === undefined ? '; protocol v1 needs WINDLASS_AGENT_ID' : ''
    log.warn({ err: refusal }, `cannot determine the protocol of the server${need}`)
    await clock.sleep(backoffMs({ baseMs: 500, maxMs: 10_000 }, failures), signal)
  }
}

/** Sends an empty hello. Returns the error of the call, or undefined if the server accepted it. */
async function sayHello(client: Client, signal: AbortSignal): Promise<unknown> {
  return client.text('POST', AGENT_ROUTES.hello.path, { body: {}, signal }).then(
    () => undefined,
    (error: unknown) => error,
  )
}

async function answers(platform: Platform | undefined, signal: AbortSignal): Promise<boolean> {
  return platform === undefined
    ? false
    : platform.heartbeat('All good', signal).then(
        () => true,
        () => false,
      )
}
