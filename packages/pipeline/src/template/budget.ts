/** Shared limits for several renderings: steps, and characters that functions read and produce. Each rendering consumes from it. */
export interface Budget {
  steps: number
  work: number
}

/** Returns the budget for all templates of a document. */
export function createBudget(): Budget {
  return { steps: 1_000_000, work: 33_554_432 }
}
