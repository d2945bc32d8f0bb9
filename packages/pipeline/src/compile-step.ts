/** Drafts as steps of the plan: each checked against the fields of its type, with all that can be said about it before anything runs. */
import type { Action, FlagTemplate, PlanStep } from '@windlass/plan'
import { toAction } from './compile-action.ts'
import { compileAnnotations } from './compile-annotations.ts'
import { toCriteria } from './compile-criteria.ts'
import { toBreakpoints, toEnvironmentRecord, toRetry, toTimeout } from './compile-settings.ts'
import { toServices } from './compile-services.ts'
import { toWhen } from './compile-when.ts'
import type { ExpressionPlace } from './compile-when.ts'
import { checkDraft } from './check-draft.ts'
import * as read from './fields.ts'
import type { Draft, Drafting } from './step-draft.ts'

/** The step of a draft, then those inside it, then its hooks. Problems are in its report; steps that cannot run are left out. */
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
    failFast: read.flag(entries, 'fail_fast') ?? usualFailFast(draft),
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

/** A group that says nothing leaves it to its steps what a failure means; with criteria of its own it is like any other step. */
function usualFailFast({ body, entries, failFast }: Draft): FlagTemplate {
  return body.kind === 'group' && body.typed === undefined && !entries.has('success_criteria') ? true : failFast
}

function toActionOf({ body, type, entries }: Draft, place: ExpressionPlace): Action | undefined {
  switch (body.kind) {
    case 'group':
      return { kind: 'group', mode: body.mode, ...read.when('typed', body.typed) }
    case 'annotate':
      return compileAnnotations(entries, place, body.ofBuild)
    case 'step':
      return toAction(type, entries, place.drafting)
    case 'unknown':
      return undefined
  }
}
