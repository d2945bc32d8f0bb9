/**
 * Applications as their runtimes have them now, and the operations on them. The app-proxy of the runtime carries them out and checks the rights again. Not here: what runtimes have
 * reported (`../applications`), and the rules of operations (the package `app-proxy`).
 */
import { fault } from '@windlass/kit'
import { tolerant, type CallOptions, type Method, type RolloutAction } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { noteSubject, outsideCall } from '../../audit/call.ts'
import type { Actor } from '../../identity/actor.ts'
import { showApplication } from '../applications/show-applications.ts'
import { announceOwnCall } from '../calls.ts'
import { requireValid, throwForCaller, withRuntimeClient, type RuntimeCalls } from './runtime-client.ts'

export interface LiveCall<S extends z.ZodType> extends Pick<CallOptions, 'body' | 'query' | 'timeoutMs'> {
  readonly actor: Actor
  /** Id of the application, or RUNTIME/NAMESPACE/NAME. */
  readonly id: string
  readonly method: Extract<Method, 'GET' | 'POST'>
  /** Below the path of the application. Empty: the application itself. */
  readonly part:
    | ''
    | '/tree'
    | '/diff'
    | '/resource'
    | '/events'
    | '/logs'
    | '/sync'
    | '/rollback'
    | '/refresh'
    | '/terminate'
    | RolloutPart
  readonly answer: S
  /** What of the application the call changes, for the audit log. Default: the application. */
  readonly subject?: string
  /** Aborted when the server closes. A caller that leaves does not end a call that may have had its effect. */
  readonly signal: AbortSignal
}

type RolloutPart = '/rollouts' | '/rollouts/rollback' | `/rollouts/${RolloutAction}`

const STOPPED = { message: 'The server stops.', hint: 'Check whether the call had an effect, then repeat it.' }

/** Returns the answer of the app-proxy. Throws its faults, `not-found`, `tunnel-offline` and other faults of tunnels, and `router-broken`. */
export async function callApplication<S extends z.ZodType>(
  app: App,
  runtimes: RuntimeCalls,
  { actor, id, method, part, answer, subject, ...options }: LiveCall<S>,
): Promise<z.output<S>> {
  if (actor.kind !== 'key') throw fault('forbidden')
  const { runtime, namespace, name } = await showApplication(app, id)
  const path = `/app-proxy/api/namespaces/${encodeURIComponent(namespace)}/applications/${encodeURIComponent(name)}${part}`
  const caller = { actor, runtime, isReadOnly: method === 'GET' }
  return withRuntimeClient(app, runtimes, caller, async (client) => {
    // The effect is elsewhere, so a call that changes something is announced before.
    const end = method === 'POST' ? await announceOwnCall(app, client.runtimeId) : undefined
    const ask = async (): Promise<z.output<S>> =>
      requireValid(tolerant(answer), await client.call(method, path, z.unknown(), options))
    const answered = await ask().catch(async (error: unknown) => {
      // Its failure has a record. A server that stops does not know how the call ends.
      if (options.signal.aborted) throw fault('unavailable', STOPPED, error)
      if (end !== undefined) await outsideCall(() => app.store.write(end))
      return throwForCaller(error)
    })
    if (end === undefined) return answered
    await app.store.write(async (tx) => {
      await end(tx)
      const application = `application ${runtime}/${namespace}/${name}`
      noteSubject(subject === undefined ? application : `${subject} of the ${application}`)
    })
    return answered
  })
}
