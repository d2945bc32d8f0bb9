/**
 * Common fields of typed and parallel steps that cannot be used. Codefresh does not check them there and ignores them, so documents that run today
 * contain them. Only fields that can be ignored without harm are ignored here: a condition with a wrong key stays an error.
 */
import { check, currentValue } from '../language/check.ts'
import type { Entries } from '../language/fields.ts'
import { STEP_SERVICES } from '../language/control-fields.ts'
import { Report } from '../syntax/report.ts'
import { textOf, type Entry } from '../syntax/tree.ts'
import type { DraftName, DraftPlace } from './drafting.ts'

/** Returns the fields without those that cannot be used, and warns about these. */
export function withoutUnusable(entries: Entries, { path }: DraftName, { report, drafting }: DraftPlace): Entries {
  const problems = [...entries.values()].flatMap((entry) => {
    const problem = problemOf(entry, drafting.stages, report)
    return problem === undefined ? [] : [{ entry, problem }]
  })
  if (problems.length === 0) return entries
  for (const { entry, problem } of problems)
    report.warning(
      entry.key === 'stage' ? 'unknown-stage' : 'wrong-type',
      entry.value.range,
      `${problem}, so "${entry.key}" has no effect`,
      {
        path: `${path}.${entry.key}`,
      },
    )
  const unusable = new Set(problems.map(({ entry }) => entry.key))
  return new Map([...entries].filter(([key]) => !unusable.has(key)))
}

function problemOf({ key, value }: Entry, stages: ReadonlySet<string>, { source, suggestions }: Report): string | undefined {
  const stage = key === 'stage' ? textOf(value) : undefined
  if (stage !== undefined && stage.trim() !== '' && !stages.has(stage))
    return `"stages" does not list this stage${currentValue(value)}`
  if (key === 'when' && value.kind === 'list') return '"when" must be an object'
  if (key !== 'services') return undefined
  const services = new Report(source, suggestions)
  check(value, STEP_SERVICES.shape, { key, path: '' }, services)
  return services.problems.find(({ severity }) => severity === 'error')?.message
}
