/** Step types that come with Windlass, found after those of the account. */
import { catalogOf } from './catalog.ts'
import type { CatalogEntry, StepCatalog } from './catalog.ts'
import { CODEFRESH_RUN } from './codefresh-run.ts'

export const BUILT_IN_STEP_TYPES: readonly CatalogEntry[] = [{ name: 'codefresh-run', version: '2.0.0', text: CODEFRESH_RUN }]

export const BUILT_IN_CATALOG: StepCatalog = catalogOf(BUILT_IN_STEP_TYPES)
