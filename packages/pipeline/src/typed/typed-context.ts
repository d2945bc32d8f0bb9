/** State shared by all typed steps of a document during compilation. */
import type { Diagnostic } from '../language/diagnostic.ts'
import { hasErrors, sortProblems } from '../language/diagnostic.ts'
import type { Report } from '../syntax/report.ts'
import { createBudget } from '../template/budget.ts'
import type { Budget } from '../template/budget.ts'
import type { CatalogEntry, StepCatalog } from './catalog.ts'
import type { ReadStepType } from './manifest.ts'

export interface TypedContext {
  readonly catalog: StepCatalog | undefined
  /** Every step type that is used. */
  readonly used: Set<CatalogEntry>
  /** Reports of the implementations. */
  readonly reports: Report[]
  /** Parsed manifests, so that each is read once. */
  readonly manifests: Map<CatalogEntry, ReadStepType>
  readonly budget: Budget
  /** True if a typed step was left out because there is no catalog. */
  skipped: boolean
}

/** Returns an empty context. */
export function createTypedContext(catalog: StepCatalog | undefined): TypedContext {
  return { catalog, used: new Set(), reports: [], manifests: new Map(), budget: createBudget(), skipped: false }
}

/** Returns the errors of the implementations. Their warnings only concern the authors. */
export function problemsInside({ reports }: TypedContext): Diagnostic[] {
  return reports.flatMap(({ problems }) => sortProblems(problems.filter((problem) => hasErrors([problem])))).slice(0, MAX_INSIDE)
}

const MAX_INSIDE = 100
