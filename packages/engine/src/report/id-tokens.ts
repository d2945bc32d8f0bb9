import { retry, isFault, endsWork, isRefusal, type Clock } from '@windlass/kit'
import { engineCalls } from '@windlass/client/engine'
import type { Client } from '@windlass/protocol'
import type { RequestIdToken } from '../attempt/input.ts'

const BACKOFF = { baseMs: 500, maxMs: 10_000 }

/** Returns the call that requests ID tokens. It is repeated while the server is away. `client` has the attempt token. */
export function idTokensOf({ client, clock }: { readonly client: Client; readonly clock: Clock }): RequestIdToken {
  const server = engineCalls(client)
  const retryIf = (error: unknown): boolean => isFault(error) && !endsWork('attempt', error) && !isRefusal(error)
  return async (audience, signal) => {
    const query = audience === undefined ? {} : { audience }
    return (await retry({ ...BACKOFF, clock, signal, retryIf }, () => server.idToken({ query, signal }))).id_token
  }
}
