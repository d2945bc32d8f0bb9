/** Compiles drafts to steps of the plan and checks each against the fields of its type. */
import type { Action, FlagTemplate, PlanStep } from '@windlass/plan'
import { compileAnnotations } from './compile-annotations.ts'
import { toCriteria } from './compile-criteria.ts'
import { toBreakpoints, toEnvironmentRecord, toRetry, toTimeout } from './compile-settings.ts'
import { toServices } from './compile-services.ts'
import { toWhen } from './compile-when.ts'
import type { ExpressionPlace } from './compile-when.ts'
import { checkDraft } from '../draft/check-draft.ts'
import * as read from '../language/fields.ts'
import type { Draft } from '../draft/step-draft.ts'
import type { Drafting } from '../draft/drafting.ts'

/** Compiles a draft: its step, then the steps inside it, then its hooks. Problems go to its report; steps that cannot run are left out. */
export function compileDraft(draft: Draft, drafting: Drafting): PlanStep[] {
  checkDraft(draft, drafting)
  const step = toStep(draft, drafting)
  const below = [...draft.children, ...draft.hooks].flatMap((one) => compileDraft(one, drafting))
  return step === undefined ? below : [step, ...below]
}

function toStep(draft: Draft, drafting: Drafting): PlanStep | undefined {
  const { entries, report, hook, parent } = draft
  const place: ExpressionPlace = { report, path: draft.path, drafting, draft, atEnd: false, severity: 'error' }
  const stage = read.text(entries, 'stage')
  const when = toWhen(entries, place)
  const timeout = toTimeout(draft)
  const retry = toRetry(entries, place)
  const criteria = draft.body.kind === 'group' ? toCriteria(entries, draft.children, { ...place, atEnd: true }) : undefined
  const action = toActionOf(draft, { ...place, atEnd: true, severity: 'warning' })
  if (action === undefined) return undefined
  return {
    name: draft.name,
    title: read.text(entries, 'title') ?? draft.key,
    ...read.when('stage', stage),
    ...read.when('parent', parent?.name),
    after: draft.after,
    ...read.when('when', when),
    failFast: read.flag(entries, 'fail_fast') ?? defaultFailFast(draft),
    strictFailFast: read.flag(entries, 'strict_fail_fast') ?? false,
    ...read.when('timeout', timeout),
    retry,
    action,
    ...read.when('successCriteria', criteria),
    ...read.when('hook', hook),
    ...read.when('services', toServices(draft, drafting)),
    ...read.when('breakpoints', toBreakpoints(draft, drafting)),
    ...read.when('environmentRecord', toEnvironmentRecord(entries)),
    position: draft.position ?? report.source.placeOf(draft.range.start),
  }
}

/** Returns the default of `fail_fast`. A group leaves it to its steps, unless it has its own success criteria. */
function defaultFailFast({ body, entries, failFast }: Draft): FlagTemplate {
  return body.kind === 'group' && body.typed === undefined && !entries.has('success_criteria') ? true : failFast
}

function toActionOf({ body, known, entries }: Draft, place: ExpressionPlace): Action | undefined {
  switch (body.kind) {
    case 'group':
      return { kind: 'group', mode: body.mode, ...read.when('typed', body.typed) }
    case 'annotate':
      return compileAnnotations(entries, place, body.ofBuild)
    case 'step':
      return known?.toAction?.(entries, place.drafting)
    case 'unknown':
      return undefined
  }
}
