/** The calls for triggers and deliveries, which are not a part of the first script. */
import { openTriggersClient } from '@windlass/client/triggers'
import { client } from '../server/client.ts'

export const calls = openTriggersClient(client)
