/** The call of a reporter of a GitOps runtime, with the token of the runtime. */
import { EventsAnswer, tolerant, type Client } from '@windlass/protocol'
import { bindCalls, type Calls } from './calls.ts'
import { route } from './route.ts'

export const REPORTER_ROUTES = {
  /** Sends an `EventsBody` as JSON, which may be compressed. The caller sets `content-type` and `content-encoding`. */
  events: route('POST', '/2.0/api/events', { body: 'bytes', answer: EventsAnswer }),
}

export type ReporterCalls = Calls<typeof REPORTER_ROUTES>

/** Returns the calls of the runtime whose token the client has. */
export function reporterCalls(client: Client): ReporterCalls {
  return bindCalls(client, REPORTER_ROUTES, tolerant)
}
