import { retry, isFault, endsWork, isRefusal, type Clock } from '@windlass/kit'
import { engineCalls } from '@windlass/client/engine'
import type { Client } from '@windlass/protocol'
import type { RequestGitAccess } from '../attempt/input.ts'

/** Repeats for about two minutes. */
const BACKOFF = { baseMs: 500, maxMs: 10_000, tries: 18 }

/** Returns the call that requests the access of Git contexts. It is repeated while the server or the forge is away. `client` has the attempt token. */
export function gitAccessOf({ client, clock }: { readonly client: Client; readonly clock: Clock }): RequestGitAccess {
  const server = engineCalls(client)
  const retryIf = (error: unknown): boolean => isFault(error) && !endsWork('attempt', error) && !isRefusal(error)
  return (context, signal) =>
    retry({ ...BACKOFF, clock, signal, retryIf }, () => server.gitAccess({ query: { context }, signal }))
}
