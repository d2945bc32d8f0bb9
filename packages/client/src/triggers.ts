/** The routes of the page for triggers and deliveries, which it loads with their screens. */
import type { Client } from '@windlass/protocol'
import { bindGroups, type Groups } from './groups.ts'
import { cronTriggers, deliveries, eventTriggers, triggers, webhooks } from './routes/triggers.ts'

const TRIGGER_ROUTES = { cronTriggers, deliveries, eventTriggers, triggers, webhooks }

export type TriggersClient = Groups<typeof TRIGGER_ROUTES>

/** Returns the methods of these routes on an open client. */
export function openTriggersClient(client: Client): TriggersClient {
  return bindGroups(client, TRIGGER_ROUTES)
}
