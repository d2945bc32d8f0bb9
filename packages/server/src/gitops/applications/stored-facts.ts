/** The JSON of an application in the store. */
import { ApplicationDetails } from '@windlass/protocol'
import { z } from 'zod'

/** JSON in the column `facts`: what lists show and no column has. */
export const ApplicationFacts = ApplicationDetails.pick({
  sources: true,
  destination: true,
  healthMessage: true,
  revisions: true,
  isAutomatic: true,
  operation: true,
  conditions: true,
  images: true,
  resourceCount: true,
  why: true,
  isDeleting: true,
  labels: true,
}).extend({ longSyncMinutes: z.number() })
export type ApplicationFacts = z.output<typeof ApplicationFacts>

/** JSON in the column `resources`. */
export const ApplicationResources = ApplicationDetails.shape.resources
