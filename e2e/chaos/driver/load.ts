/** The load of a chaos run: builds of several pipelines, asked for by a few clients at once, some of them cancelled. */
import { systemClock as clock } from '@windlass/kit'
import type { Random } from '../faults/random.ts'
import type { StepShape } from '../history/history.ts'
import type { Requests } from './requests.ts'
import { RUNTIME } from './prepare.ts'

/** Handed to every build; may be found nowhere. Chosen so that its base64 and URL forms differ from it. */
export const SECRET = 'hunter2/ümlaut+secret'
const CLIENTS = 6
const DEADLINE_MS = 120_000

export interface LoadOptions {
  readonly plan: {
    readonly builds: number
    readonly cancelShare?: number
    readonly approvalShare?: number
    readonly loadMs?: number
  }
  readonly random: Random
  readonly requests: Requests
  readonly pipelines: readonly string[]
}

/**
 * Asks for all builds; resolves when every one of them is known to exist or to be refused, and the cancels are answered. Decisions about
 * approvals wait until they are asked for: `decided` resolves when they are answered.
 */
export async function runLoad({ plan, random, requests, pipelines }: LoadOptions): Promise<{ decided: Promise<unknown> }> {
  const jobs = Array.from({ length: plan.builds }, (_, n) => ({
    key: `chaos-${random.seed}-${n}`,
    pipeline: random.pick(pipelines),
    steps: makeSteps(random, plan.approvalShare ?? 0.15),
    verdicts: makeVerdicts(random),
    cancelAfterMs: random.chance(plan.cancelShare ?? 0.1) ? random.between(0, 400) : undefined,
    pauseMs: random.between(0, (2 * CLIENTS * (plan.loadMs ?? 0)) / plan.builds),
  }))
  const cancels: Promise<void>[] = []
  const decisions: Promise<void>[] = []
  const client = async (): Promise<void> => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      const { cancelAfterMs, pauseMs, verdicts, ...demand } = job
      const buildId = await requests.trigger({ ...demand, runtime: RUNTIME, deadlineMs: DEADLINE_MS, secrets: { TOKEN: SECRET } })
      if (buildId !== undefined && cancelAfterMs !== undefined) {
        cancels.push(clock.sleep(cancelAfterMs).then(() => requests.terminate(buildId)))
      }
      if (buildId !== undefined && demand.steps.some(({ isApproval }) => isApproval))
        for (const { afterMs, decision } of verdicts)
          decisions.push(clock.sleep(afterMs).then(() => requests.decide({ buildId, step: GATE, decision })))
      await clock.sleep(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await Promise.all(cancels)
  return { decided: Promise.all(decisions) }
}

/** One or two people decide, soon or late, and need not agree. */
function makeVerdicts(random: Random): { afterMs: number; decision: 'approved' | 'denied' }[] {
  return Array.from({ length: random.between(1, 2) }, () => ({
    afterMs: random.between(0, 3_000),
    decision: random.chance(0.7) ? ('approved' as const) : ('denied' as const),
  }))
}

const GATE = 'gate'

function makeSteps(random: Random, approvalShare: number): StepShape[] {
  const names = ['clone', 'lint', 'test', 'image', 'push'].slice(0, random.between(1, 5))
  if (random.chance(approvalShare)) names.splice(random.between(0, names.length), 0, GATE)
  return names.map((name, n) => ({
    name,
    after: names.slice(Math.max(0, n - 1), n),
    failFast: true,
    ...(name === GATE && { isApproval: true }),
  }))
}
