/** What all typed steps of a document share while it is compiled. */
import type { Diagnostic } from '../diagnostic.ts'
import { hasErrors, sortProblems } from '../diagnostic.ts'
import type { Report } from '../report.ts'
import { openBudget } from '../template/budget.ts'
import type { Budget } from '../template/budget.ts'
import type { CatalogEntry, StepCatalog } from './catalog.ts'
import type { ReadStepType } from './manifest.ts'

export interface TypedContext {
  readonly catalog: StepCatalog | undefined
  /** Filled with every step type that is used. */
  readonly used: Set<CatalogEntry>
  /** Filled with the reports of the implementations. */
  readonly reports: Report[]
  /** Manifests are read once, however many steps use them. */
  readonly manifests: Map<CatalogEntry, ReadStepType>
  readonly budget: Budget
  /** Set when a typed step was left out because there is no catalog. */
  skipped: boolean
}

/** A context in which nothing has been used yet. */
export function openTyped(catalog: StepCatalog | undefined): TypedContext {
  return { catalog, used: new Set(), reports: [], manifests: new Map(), budget: openBudget(), skipped: false }
}

/** Errors of the implementations. Their warnings are for those who write them. */
export function problemsInside({ reports }: TypedContext): Diagnostic[] {
  return reports.flatMap(({ problems }) => sortProblems(problems.filter((problem) => hasErrors([problem])))).slice(0, MAX_INSIDE)
}

const MAX_INSIDE = 100
