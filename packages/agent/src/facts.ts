/**
 * The outbox of facts. They are numbered in order and sent in batches until the server acknowledges them. It is in memory on purpose: after
 * a restart the executor reads the same facts from the objects again, and `instance` tells the server that numbering restarts.
 */
import { aborted, backoffMs, endsWork, isAbort, type Clock, type Logger } from '@windlass/kit'
import { agentCalls } from '@windlass/client/agent'
import type { AgentFact, Client } from '@windlass/protocol'
import { attemptKey, type AttemptRef, type Fact } from './executor.ts'

/** Maximum number of facts per call. */
const BATCH = 500
/** Maximum number of facts kept while the server is unreachable. Beyond it, facts that a later fact replaces are dropped first. */
const LIMIT = 10_000

export interface FactOutbox {
  /** Queues a fact. Drops it if it equals the previous fact about the same object. */
  report(fact: Fact): void
  /** Forgets the facts of an attempt that is gone. */
  forget(ref: AttemptRef): void
  /** Number of unsent facts. */
  size(): number
  /** Sends until the signal is aborted. Throws `agent-fenced`. */
  send(session: () => { readonly epoch: number; readonly instance: string }, signal: AbortSignal): Promise<void>
}

export interface FactOutboxOptions {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
}

export function openFacts({ client, clock, log }: FactOutboxOptions): FactOutbox {
  const server = agentCalls(client)
  let queue: AgentFact[] = []
  let seq = 0
  let wake = Promise.withResolvers<void>()
  const said = new Map<string, Map<string, string>>()

  function isNews(fact: Fact): boolean {
    const ofAttempt = said.get(attemptKey(fact)) ?? new Map<string, string>()
    said.set(attemptKey(fact), ofAttempt)
    const text = JSON.stringify(fact)
    if (ofAttempt.get(fact.object ?? '') === text) return false
    ofAttempt.set(fact.object ?? '', text)
    return true
  }

  async function sendBatch(session: { epoch: number; instance: string }, signal: AbortSignal): Promise<void> {
    const facts = queue.slice(0, BATCH)
    const body = { epoch: session.epoch, instance: session.instance, facts }
    const { ackSeq } = await server.sendFacts(body, { signal })
    queue = queue.filter((fact) => fact.seq > ackSeq)
  }

  return {
    report(fact) {
      if (!isNews(fact)) return
      seq += 1
      queue.push({ ...fact, seq, at: clock.now() })
      if (queue.length > LIMIT) queue = thinOut(queue)
      wake.resolve()
    },
    forget(ref) {
      said.delete(attemptKey(ref))
    },
    size: () => queue.length,
    async send(session, signal) {
      const stopped = aborted(signal)
      for (let failures = 0; !signal.aborted;) {
        if (queue.length === 0) {
          wake = Promise.withResolvers<void>()
          await Promise.race([wake.promise, stopped])
          continue
        }
        try {
          await sendBatch(session(), signal)
          failures = 0
        } catch (error) {
          if (endsWork('agent', error)) throw error
          if (isAbort(error)) return
          failures += 1
          log.warn({ err: error, waiting: queue.length }, 'facts not sent')
          await clock.sleep(backoffMs({ baseMs: 200, maxMs: 10_000 }, failures), signal).catch(() => undefined)
        }
      }
    },
  }
}

/** Keeps the newest fact of each object, and all facts with the state `lost` or `gone`. */
function thinOut(queue: readonly AgentFact[]): AgentFact[] {
  const newest = new Map(queue.map((fact) => [`${attemptKey(fact)}/${fact.object ?? ''}`, fact.seq]))
  return queue.filter(
    (fact) =>
      fact.state === 'lost' || fact.state === 'gone' || newest.get(`${attemptKey(fact)}/${fact.object ?? ''}`) === fact.seq,
  )
}
