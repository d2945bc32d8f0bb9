/** The calls of a cluster monitor. */
import { MonitorHello, MonitorWelcome, ObjectAck, ObjectBatch, type Client } from '@windlass/protocol'
import { bindCalls, type Calls } from './calls.ts'
import { route } from './route.ts'

export const MONITOR_ROUTES = {
  /** Registers the process. A new process starts a new generation. */
  hello: route('POST', '/v1/monitor/hello', { body: MonitorHello, answer: MonitorWelcome }),
  /** Sends changed objects. Idempotent by cluster, generation and number. */
  sendObjects: route('POST', '/v1/monitor/objects', { body: ObjectBatch, answer: ObjectAck }),
}

export type MonitorCalls = Calls<typeof MONITOR_ROUTES>

/** Returns the calls of the monitor whose token the client has. */
export function monitorCalls(client: Client): MonitorCalls {
  return bindCalls(client, MONITOR_ROUTES)
}
