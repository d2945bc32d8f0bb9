/** Holds what was seen of a build against what its case expects. */
import type { Case } from './case.ts'
import type { Fact, Observed } from './observed.ts'

/** What is not as expected, one sentence each; empty when all is. */
export function differences({ expect }: Case, seen: Observed): string[] {
  return [
    ...outcome(expect, seen),
    ...steps(expect, seen),
    ...logs(expect, seen),
    ...times(expect, seen),
    ...places(expect, seen),
  ]
}

type Expected = Case['expect']

function outcome({ status, reason }: Expected, seen: Observed): string[] {
  const found = seen.status === status && (reason === undefined || reason === seen.reason)
  return found ? [] : [`the build ended as ${seen.status} ${seen.reason ?? ''}, not as ${status} ${reason ?? ''}`]
}

function steps(expected: Expected, { facts }: Observed): string[] {
  const wrong: string[] = []
  for (const [step, end] of Object.entries(expected.steps)) {
    const last = facts.findLast((fact) => fact.step === step && fact.status !== undefined)
    const found = end.includes(' ') ? `${last?.status} ${last?.reason}` : last?.status
    if (found !== end) wrong.push(`step ${step} ended as ${last?.text ?? 'never told of'}, not as ${end}`)
  }
  for (const [step, text] of Object.entries(expected.message)) {
    const last = facts.findLast((fact) => fact.step === step && fact.kind === 'finished')
    if (last?.message?.includes(text) !== true) wrong.push(`step ${step} says "${last?.message}", without "${text}"`)
  }
  return wrong
}

function logs(expected: Expected, { output, log }: Observed): string[] {
  const wrong: string[] = []
  for (const [step, texts] of Object.entries(expected.log)) {
    let at = 0
    for (const text of texts) {
      const found = (log.get(step) ?? '').indexOf(text, at)
      if (found < 0) wrong.push(`the log of ${step} lacks "${text}" (after ${at} characters): ${log.get(step) ?? 'no log'}`)
      else at = found + text.length
    }
  }
  for (const [step, texts] of Object.entries(expected.not))
    for (const text of texts) if (output.get(step)?.includes(text) === true) wrong.push(`the log of ${step} has "${text}"`)
  return wrong
}

function times(expected: Expected, { facts }: Observed): string[] {
  const wrong: string[] = []
  const startOf = (step: string): number => facts.findIndex((fact) => fact.step === step && fact.kind === 'started')
  for (const list of expected.order) {
    const places = list.map(startOf)
    if (places.includes(-1) || places.some((place, index) => place < (places[index - 1] ?? -1)))
      wrong.push(`steps started as ${starts(facts)}, not in the order ${list.join(', ')}`)
  }
  for (const pair of expected.together) {
    const [a, b] = pair.map((step) => span(facts, step))
    if (a === undefined || b === undefined || a.start > b.end || b.start > a.end)
      wrong.push(`steps ${pair.join(' and ')} did not run at the same time`)
  }
  return wrong
}

function starts(facts: readonly Fact[]): string {
  return facts
    .filter(({ kind }) => kind === 'started')
    .map(({ step }) => step)
    .join(', ')
}

function span(facts: readonly Fact[], step: string): { start: number; end: number } | undefined {
  const start = facts.findIndex((fact) => fact.step === step && fact.kind === 'started')
  const end = facts.findLastIndex((fact) => fact.step === step && fact.kind === 'finished')
  return start < 0 || end < 0 ? undefined : { start, end }
}

function places({ problems }: Expected, seen: Observed): string[] {
  return problems
    .filter((problem) => !seen.problems.includes(problem))
    .map((problem) => `no problem ${problem} was told: ${seen.problems.join('; ')}`)
}
