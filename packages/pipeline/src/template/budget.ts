/** What several renderings may cost together: steps taken, and characters that functions read and make. Renderings take from it. */
export interface Budget {
  steps: number
  work: number
}

/** A budget for all templates of a document. */
export function openBudget(): Budget {
  return { steps: 1_000_000, work: 33_554_432 }
}
