/** Products as callers see them: their applications in each environment, and which version is where. */
import { z } from 'zod'
import { Id } from '../base.ts'
import { Application, APPLICATION_HEALTHS, APPLICATION_SYNCS } from './applications.ts'
import { DefinitionName, ENVIRONMENT_KINDS, Environment, ProductInput } from './definitions.ts'
import { Release, ReleaseTrigger } from './releases.ts'

/** An application of a product. */
export const ProductApplication = Application.pick({
  runtime: true,
  namespace: true,
  name: true,
  health: true,
  sync: true,
  since: true,
  why: true,
  images: true,
}).extend({
  /** The tag that all of its images have, or else the version that its last release has brought. Absent if neither is known. */
  version: z.string().optional(),
  /** The commit with which the cluster was compared. */
  revision: z.string().optional(),
})
export type ProductApplication = z.output<typeof ProductApplication>

/** A product in one environment. */
export const ProductPlace = z.object({
  environment: DefinitionName,
  kind: z.enum(ENVIRONMENT_KINDS),
  /** The version of all of its applications there; absent if they differ, or if it is not known. */
  version: z.string().optional(),
  /** The worst of the applications. */
  health: z.enum(APPLICATION_HEALTHS),
  sync: z.enum(APPLICATION_SYNCS),
  applications: z.array(ProductApplication),
  /** The release that changes this environment now. */
  releaseId: Id.optional(),
})
export type ProductPlace = z.output<typeof ProductPlace>

const { id, createdBy, createdAt, changedBy, changedAt } = Environment.shape

export const Product = z.object({
  ...ProductInput.shape,
  id,
  name: DefinitionName,
  createdBy,
  createdAt,
  changedBy,
  changedAt,
  /** In the order of environments. Environments without an application of the product are left out. */
  environments: z.array(ProductPlace),
  /** Applications of the product that deploy into no environment: RUNTIME/NAMESPACE/NAME. */
  elsewhere: z.array(z.string()),
  /** A commit that starts a release soon, and for what it waits. */
  next: ReleaseTrigger.extend({ why: z.string() }).optional(),
  /** Applications of flows that start by themselves whose last commit is not known, and why. Absent without any. */
  unseen: z.array(z.object({ application: z.string(), why: z.string() })).optional(),
  /** The last release. */
  release: Release.pick({ id: true, number: true, status: true, version: true, createdAt: true }).optional(),
})
export type Product = z.output<typeof Product>
