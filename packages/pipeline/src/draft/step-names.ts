/** The names of all steps of a document and their lookup. */
import { nearMiss } from '@windlass/plan'
import { Suggestions } from '../syntax/suggestions.ts'
import type { Draft } from './step-draft.ts'

/** Maximum number of steps of a pipeline. */
export const MAX_STEPS = 10_000
/** Limits for suggestions, whose cost grows with the number of names. */
const MAX_SUGGESTIONS = 50
const MAX_CANDIDATES = 500

export class StepNames {
  private readonly drafts = new Map<string, Draft>()
  private readonly suggestions = new Suggestions(MAX_SUGGESTIONS)
  /** Remaining size for the children of `scale` and `matrix`. */
  readonly remaining = { nodes: 400_000, chars: 2_097_152 }

  /** Returns all drafts in document order, parents before their children. */
  all(): IterableIterator<Draft> {
    return this.drafts.values()
  }

  get size(): number {
    return this.drafts.size
  }

  /** Adds a step. Returns false if the name is taken. */
  add(draft: Draft): boolean {
    if (this.drafts.has(draft.name)) return false
    this.drafts.set(draft.name, draft)
    return true
  }

  /** Finds the step that `name` refers to at `from`: a sibling inside a hook or typed step, otherwise a step of the document. */
  find(name: string, from: Draft | undefined): Draft | undefined {
    return from?.locals?.get(name) ?? this.drafts.get(name)
  }

  /** Suggests an existing name for one that does not exist. */
  suggest(wrong: string, from?: Draft): string | undefined {
    return this.suggestAmong(wrong, from?.locals ?? this.drafts, () => this.namesAt(from))
  }

  /** A generator, because it is rarely read to its end, and a document can need it for each of its words. */
  private *namesAt(from: Draft | undefined): Generator<string> {
    yield* from?.locals?.keys() ?? []
    yield* this.drafts.keys()
  }

  /** Like `suggest`, but among the given names, which `among` identifies. */
  suggestAmong(wrong: string, among: object, names: () => Iterable<string>): string | undefined {
    return this.suggestions.find(wrong, among, () => {
      const near: string[] = []
      for (const name of names()) {
        if (near.length >= MAX_CANDIDATES) break
        if (Math.abs(name.length - wrong.length) < 3) near.push(name)
      }
      return nearMiss(wrong, near)
    })
  }
}
