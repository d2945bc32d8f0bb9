/** Step types that come with Windlass, found after those of the account. */
import { catalogOf } from './catalog.ts'
import type { CatalogEntry, StepCatalog } from './catalog.ts'

export const BUILT_IN_STEP_TYPES: readonly CatalogEntry[] = []

export const BUILT_IN_CATALOG: StepCatalog = catalogOf(BUILT_IN_STEP_TYPES)
