/** Unsaved documents of this tab, so that a look at a build or a reload loses nothing. */
export interface Draft {
  /** The revision of the pipeline that it was made from. */
  readonly revision: number
  readonly text: string
}

const keyOf = (pipeline: string): string => `windlass.draft.${pipeline}`

/** Returns the unsaved document of a pipeline. */
export function readDraft(pipeline: string): Draft | undefined {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(keyOf(pipeline)) ?? 'null')
    return isDraft(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isDraft(value: unknown): value is Draft {
  if (typeof value !== 'object' || value === null || !('text' in value) || !('revision' in value)) return false
  return typeof value.text === 'string' && typeof value.revision === 'number'
}

/** Keeps or forgets the unsaved document of a pipeline. */
export function keepDraft(pipeline: string, draft: Draft | undefined): void {
  try {
    if (draft === undefined) sessionStorage.removeItem(keyOf(pipeline))
    else sessionStorage.setItem(keyOf(pipeline), JSON.stringify(draft))
  } catch {
    // Storage is full or blocked; the draft lasts until the page is left.
  }
}
