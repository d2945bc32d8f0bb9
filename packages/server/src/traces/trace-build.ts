import type { App } from '../app.ts'
import { readTraceFacts } from '../store/builds/trace-facts.ts'
import { toBuildSpan, traceIdOf } from './build-trace.ts'
import type { Traces } from './span.ts'

/** Exports the trace of a build that has ended. Logs an error, because no caller waits for it. */
export async function traceBuild({ store, log }: App, traces: Traces, buildId: string): Promise<void> {
  try {
    const facts = await readTraceFacts(store.query, buildId)
    if (facts !== undefined) traces.record(toBuildSpan(facts), { traceId: traceIdOf(buildId) })
  } catch (error) {
    log.warn({ err: error, build: buildId }, 'trace not exported')
  }
}
