/** The routes of the page for GitOps, which it loads with their screens. */
import type { Client } from '@windlass/protocol'
import { bindGroups, type Groups } from './groups.ts'
import { applications, gitopsStatus, reportedRollouts, tunnels } from './routes/gitops.ts'
import { environments, products, releases } from './routes/products.ts'
import { rollouts } from './routes/rollouts.ts'

const DELIVERY_ROUTES = { applications, environments, gitopsStatus, products, releases, reportedRollouts, rollouts, tunnels }

export type DeliveryClient = Groups<typeof DELIVERY_ROUTES>

/** Returns the methods of these routes on an open client. */
export function openDeliveryClient(client: Client): DeliveryClient {
  return bindGroups(client, DELIVERY_ROUTES)
}
