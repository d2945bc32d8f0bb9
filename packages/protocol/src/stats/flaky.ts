/** Finds steps that fail and succeed without a change. */
import { isInfra, type Reason } from '@windlass/plan'
import { groupBy, type BuildSample, type StepSample } from './samples.ts'
import type { FlakyStep } from './stats.ts'

/** Builds that are named for one step. */
const NAMED = 10

type Evidence = FlakyStep['evidence'][number]

/** Finds steps that succeeded on a later try, or failed and succeeded for the same commit. Losses of infrastructure do not count. */
export function findFlaky(builds: readonly BuildSample[], steps: readonly StepSample[]): FlakyStep[] {
  const byId = new Map(builds.map((build) => [build.id, build]))
  const own = steps.filter(({ buildId, reason }) => byId.has(buildId) && !(reason !== undefined && isInfra(reason as Reason)))
  return [...groupBy(own, ({ step }) => step)]
    .flatMap(([step, runs]) => {
      const evidence = evidenceOf(runs, byId)
      if (evidence.length === 0) return []
      const of = new Set(runs.map(({ buildId }) => buildId)).size
      return [{ step, builds: evidence.length, of, evidence: evidence.slice(0, NAMED) }]
    })
    .toSorted((one, other) => other.builds - one.builds || (one.step < other.step ? -1 : 1))
}

/** Returns the builds that show that a step is flaky, newest first. */
function evidenceOf(runs: readonly StepSample[], builds: ReadonlyMap<string, BuildSample>): Evidence[] {
  const found = new Map<string, Evidence>()
  const note = (buildId: string, kind: Evidence['kind']): void => {
    const build = builds.get(buildId)
    if (build === undefined || found.has(buildId)) return
    const { id, number, revision } = build
    found.set(buildId, { id, number, kind, ...(revision !== undefined && { revision }) })
  }
  for (const [buildId, own] of groupBy(runs, (run) => run.buildId)) if (failedAndSucceeded(own)) note(buildId, 'later-try')
  for (const [revision, own] of groupBy(runs, (run) => builds.get(run.buildId)?.revision)) {
    if (revision === undefined || !failedAndSucceeded(own)) continue
    for (const { buildId, status } of own) if (status === 'error') note(buildId, 'same-commit')
  }
  return [...found.values()].toSorted((one, other) => other.number - one.number)
}

function failedAndSucceeded(runs: readonly StepSample[]): boolean {
  return runs.some(({ status }) => status === 'error') && runs.some(({ status }) => status === 'success')
}
