/** Which protocol the server speaks. */
import { backoffMs, fault, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Client } from '@windlass/protocol'
import type { Platform } from './v1/platform.ts'

export interface ChooseOptions {
  /** Of protocol v2. */
  readonly client: Client
  /** Of protocol v1; undefined when the agent was not told its id. */
  readonly platform: Platform | undefined
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Asks until an answer decides: an empty hello is refused as invalid by who speaks v2 and changes nothing there; where it is not found, or
 * the token is not known, a heartbeat of v1 decides. Throws `config-invalid` when v1 is needed and the agent has no id, and the signal's
 * reason.
 */
export async function chooseProtocol({ client, platform, clock, log }: ChooseOptions, signal: AbortSignal): Promise<'v1' | 'v2'> {
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted()
    try {
      await client.text('POST', '/v1/agent/hello', { body: {}, signal })
      return 'v2'
    } catch (error) {
      if (!isFault(error, 'not-found', 'unauthenticated', 'forbidden', 'server-unreachable', 'unavailable', 'rate-limited'))
        return 'v2'
      const isUnknown = isFault(error, 'not-found')
      if (isUnknown && platform === undefined)
        throw fault('config-invalid', {
          message: `${client.url} does not speak protocol v2, and v1 needs the name of this agent.`,
          hint: 'Set WINDLASS_AGENT_ID (or AGENT_ID), or check the URL of the server.',
        })
      if (isUnknown || isFault(error, 'unauthenticated', 'forbidden')) {
        if (await answers(platform, signal)) return 'v1'
        if (!isUnknown) return 'v2'
      }
      log.warn({ err: error }, 'the server does not say which protocol it speaks')
      await clock.sleep(backoffMs({ baseMs: 500, maxMs: 10_000 }, failures), signal)
    }
  }
}

async function answers(platform: Platform | undefined, signal: AbortSignal): Promise<boolean> {
  return platform === undefined
    ? false
    : platform.heartbeat('All good', signal).then(
        () => true,
        () => false,
      )
}
