/** Registers drafts by name. */
import type { Entries } from '../language/fields.ts'
import type { Draft, DraftBody } from './step-draft.ts'
import { MAX_STEPS } from './step-names.ts'
import type { BuiltInStepType } from '../language/step-type.ts'
import type { DraftPlace, DraftName } from './drafting.ts'

export interface Typed {
  readonly type: string
  readonly known: BuiltInStepType | undefined
  readonly entries: Entries
}

/** Registers a draft under its name. Returns undefined if the name is taken or there are too many steps. */
export function addDraft(
  { type, known, entries, body }: Typed & { readonly body: DraftBody },
  { key, name, range, path, after, hook }: DraftName,
  place: DraftPlace,
): Draft | undefined {
  const { drafting, report, parent, hookOf, locals, position } = place
  const draft: Draft = {
    name,
    key,
    range,
    path,
    report,
    type,
    known,
    entries,
    ...(position !== undefined && { position }),
    ...(parent !== undefined && { parent }),
    ...(hook !== undefined && { hook }),
    ...(hookOf !== undefined && hookOf !== 'build' && { hookOf }),
    ...(locals !== undefined && { locals }),
    after,
    body,
    failFast: place.failFast,
    children: [],
    hooks: [],
    order: drafting.names.size,
  }
  if (drafting.names.size >= MAX_STEPS) {
    report.error('too-large', { start: 0, end: 0 }, `the pipeline has more than ${MAX_STEPS} steps`)
    return undefined
  }
  if (!drafting.names.add(draft)) {
    report.error('duplicate-step', range, `step name exist more than once. Current value: ${key}`, {
      path,
      hint: 'Use names that are unique in the whole document, including parallel steps.',
    })
    return undefined
  }
  locals?.set(key, draft)
  return draft
}
