/** Drafts typed steps: their parts become drafts named `<step>.<part>` inside them. */
import * as read from '../language/fields.ts'
import type { Draft, DraftBody } from '../draft/step-draft.ts'
import { expandTypedStep } from './expand.ts'
import type { Expansion } from './expand.ts'
import { prepareParts } from './parts.ts'
import type { DraftPlace } from '../draft/drafting.ts'

export interface TypedDraft {
  readonly body: DraftBody
  readonly expansion: Expansion | undefined
}

/** Resolves a step whose type is not in the language. Reports its problems. */
export function findTyped(step: Pick<Draft, 'type' | 'entries' | 'range' | 'path'>, place: DraftPlace): TypedDraft {
  const expansion = expandTypedStep({
    type: { written: step.type, range: read.node(step.entries, 'type')?.range ?? step.range },
    arguments: step.entries.get('arguments')?.value,
    range: step.range,
    path: step.path,
    report: place.report,
    context: place.drafting.typed,
    known: place.drafting.variables,
    inside: place.inside ?? [],
  })
  if (expansion === undefined) return { body: { kind: 'unknown' }, expansion }
  return { body: { kind: 'group', mode: 'serial', made: 'typed', typed: expansion.typed }, expansion }
}

/** Returns the parts of a typed step and the place where they are drafted. */
export function typedPlace(
  draft: Draft,
  place: DraftPlace,
  expansion: Expansion,
): { steps: Expansion['steps']; place: DraftPlace } {
  return {
    steps: prepareParts(expansion.steps, read.text(draft.entries, 'working_directory')),
    place: {
      drafting: place.drafting,
      report: expansion.report,
      path: 'spec.steps',
      prefix: `${draft.name}.`,
      mode: 'serial',
      failFast: true,
      parent: draft,
      ...(place.hookOf !== undefined && { hookOf: place.hookOf }),
      locals: new Map(),
      position: draft.position ?? place.report.source.placeOf(draft.range.start),
      inside: expansion.inside,
    },
  }
}
