/** Step types that come with Windlass. Those of the account take precedence. */
import { catalogOf } from './catalog.ts'
import type { CatalogEntry, StepCatalog } from './catalog.ts'
import { CODEFRESH_RUN } from './codefresh-run.ts'
import { isVersion } from './version.ts'

export const BUILT_IN_STEP_TYPES: readonly CatalogEntry[] = [{ name: 'codefresh-run', version: '2.0.0', text: CODEFRESH_RUN }]

/** Answers every version with the one that is included, so that documents that name a version of Codefresh's step type run. */
export const BUILT_IN_CATALOG: StepCatalog = {
  ...catalogOf(BUILT_IN_STEP_TYPES),
  find: (name, version) =>
    version === undefined || isVersion(version) ? BUILT_IN_STEP_TYPES.find((entry) => entry.name === name) : undefined,
}
