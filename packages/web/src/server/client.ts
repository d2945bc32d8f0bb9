/** The client of `/v1` that every screen uses. */
import { openPageClient, type PageClient } from '@windlass/client/page'
import { pageTransport } from './transport.ts'

export const client: PageClient = openPageClient({ url: location.origin, transport: pageTransport })
