/** Routes of delivery pipelines in Git sources. */
import { NewDeliveryPipeline } from '@windlass/protocol'
import type { DeliveryPipelines } from '../gitops/delivery-pipelines.ts'
import { route, type Route } from './route.ts'
import { openSlots, type Slots } from './slots.ts'

/** Lists in progress at once, each of which reads all files of the Git sources. */
const LISTS = { limit: 3, waiting: 20, of: 'lists of delivery pipelines' }

export interface DeliveryParts {
  readonly deliveryPipelines: DeliveryPipelines
  /** Each change is a commit. */
  readonly slots: Slots
}

export function deliveryRoutes({ deliveryPipelines, slots }: DeliveryParts): Route[] {
  return [
    route('GET', '/delivery-pipelines', {
      right: 'see-gitops',
      slots: openSlots(LISTS),
      handle: (call) => deliveryPipelines.list(call),
    }),
    route('POST', '/delivery-pipelines', {
      right: 'change-gitops',
      isWrite: true,
      body: NewDeliveryPipeline,
      slots,
      handle: (call) => deliveryPipelines.create(call, call.body),
    }),
  ]
}
