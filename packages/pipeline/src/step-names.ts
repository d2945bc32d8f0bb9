/** The names of all steps of a document, and what a name means at one of them. */
import { nearMiss } from '@windlass/plan'
import type { Draft } from './step-draft.ts'

/** More steps than any build can run in a day. */
export const MAX_STEPS = 10_000
/** Suggestions cost time that grows with the number of names; a document with more wrong names than this needs no more of them. */
const MAX_SUGGESTIONS = 50
const MAX_CANDIDATES = 500
const MAX_LENGTH = 60

export class StepNames {
  private readonly drafts = new Map<string, Draft>()
  private suggestions = 0
  /** What the children of `scale` and `matrix` may still hold. */
  readonly room = { nodes: 400_000, chars: 8_388_608 }

  /** In document order; parents before their children. */
  all(): IterableIterator<Draft> {
    return this.drafts.values()
  }

  get size(): number {
    return this.drafts.size
  }

  /** Adds a step; false when the name is taken. */
  add(draft: Draft): boolean {
    if (this.drafts.has(draft.name)) return false
    this.drafts.set(draft.name, draft)
    return true
  }

  /** The step that `name` means at `from`: one beside it inside a hook or typed step, else one of the document. */
  find(name: string, from: Draft | undefined): Draft | undefined {
    return from?.locals?.get(name) ?? this.drafts.get(name)
  }

  /** A name that is probably meant by one that does not exist. */
  suggest(wrong: string, from?: Draft): string | undefined {
    return this.suggestAmong(wrong, [...(from?.locals?.keys() ?? []), ...this.drafts.keys()])
  }

  /** Like `suggest`, among these names. */
  suggestAmong(wrong: string, names: Iterable<string>): string | undefined {
    if (this.suggestions >= MAX_SUGGESTIONS || wrong.length > MAX_LENGTH) return undefined
    this.suggestions += 1
    const near: string[] = []
    for (const name of names) {
      if (near.length >= MAX_CANDIDATES) break
      if (name.length <= MAX_LENGTH && (Math.abs(name.length - wrong.length) < 3 || name.startsWith(wrong))) near.push(name)
    }
    return nearMiss(wrong, near)
  }
}
