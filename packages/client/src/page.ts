/** The client of the page, which a browser loads before the first screen. */
import { createClient, type Client, type ClientOptions } from '@windlass/protocol'
import { bindGroups, type Groups } from './groups.ts'
import { PAGE_ROUTES } from './page-routes.ts'

/** As `ApiClient`, with the routes that the page uses. */
export interface PageClient extends Client, Groups<typeof PAGE_ROUTES> {}

/** Opens a client. It sends nothing before the first call. */
export function openPageClient(options: ClientOptions): PageClient {
  const client = createClient(options)
  return { ...client, ...bindGroups(client, PAGE_ROUTES) }
}
