/** Compares an observed build with the expectations of its case. */
import type { Case } from './case.ts'
import type { Fact, Observed } from './observed.ts'

/** Returns the differences, one sentence each. */
export function differences({ expect }: Case, seen: Observed): string[] {
  return [
    ...outcome(expect, seen),
    ...steps(expect, seen),
    ...logs(expect, seen),
    ...times(expect, seen),
    ...documentProblems(expect, seen),
  ]
}

type Expected = Case['expect']

function outcome({ status, reason }: Expected, seen: Observed): string[] {
  const found = seen.status === status && (reason === undefined || reason === seen.reason)
  return found ? [] : [`the build ended as ${seen.status} ${seen.reason ?? ''}, not as ${status} ${reason ?? ''}`]
}

function steps(expected: Expected, { facts }: Observed): string[] {
  const problems: string[] = []
  for (const [step, end] of Object.entries(expected.steps)) {
    const last = facts.findLast((fact) => fact.step === step && fact.status !== undefined)
    const found = end.includes(' ') ? `${last?.status} ${last?.reason}` : last?.status
    if (found !== end) problems.push(`step ${step} ended as ${last?.text ?? 'never reported'}, not as ${end}`)
  }
  for (const [step, text] of Object.entries(expected.message)) {
    const last = facts.findLast((fact) => fact.step === step && fact.kind === 'finished')
    if (last?.message?.includes(text) !== true)
      problems.push(`the message of step ${step} is "${last?.message}", without "${text}"`)
  }
  return problems
}

function logs(expected: Expected, { output, log }: Observed): string[] {
  const problems: string[] = []
  for (const [step, texts] of Object.entries(expected.log)) {
    let at = 0
    for (const text of texts) {
      const found = (log.get(step) ?? '').indexOf(text, at)
      if (found < 0) problems.push(`the log of ${step} lacks "${text}" (after ${at} characters): ${log.get(step) ?? 'no log'}`)
      else at = found + text.length
    }
  }
  for (const [step, texts] of Object.entries(expected.not))
    for (const text of texts) if (output.get(step)?.includes(text) === true) problems.push(`the log of ${step} has "${text}"`)
  return problems
}

function times(expected: Expected, { facts }: Observed): string[] {
  const problems: string[] = []
  const startOf = (step: string): number => facts.findIndex((fact) => fact.step === step && fact.kind === 'started')
  for (const list of expected.order) {
    const places = list.map(startOf)
    if (places.includes(-1) || places.some((place, index) => place < (places[index - 1] ?? -1)))
      problems.push(`steps started as ${starts(facts)}, not in the order ${list.join(', ')}`)
  }
  for (const pair of expected.together) {
    const [a, b] = pair.map((step) => span(facts, step))
    if (a === undefined || b === undefined || a.start > b.end || b.start > a.end)
      problems.push(`steps ${pair.join(' and ')} did not run at the same time`)
  }
  return problems
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

function documentProblems({ problems }: Expected, seen: Observed): string[] {
  return problems
    .filter((problem) => !seen.problems.includes(problem))
    .map((problem) => `problem ${problem} was not reported: ${seen.problems.join('; ')}`)
}
