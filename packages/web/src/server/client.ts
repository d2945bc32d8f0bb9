/** The client of `/v1` that every screen uses. */
import { openClient, type ApiClient } from '@windlass/client'
import { pageTransport } from './transport.ts'

export const client: ApiClient = openClient({ url: location.origin, transport: pageTransport })
