/** The load of a chaos run: several clients start builds of several pipelines at once and cancel some of them. */
import { systemClock as clock } from '@windlass/kit'
import type { Random } from '../faults/random.ts'
import type { StepShape } from '../history/history.ts'
import { RUNTIME, STORED_STEPS } from './prepare.ts'
import type { Requests } from './requests.ts'

/**
 * Secrets that every build receives and every step prints; they must not appear anywhere. One is ASCII and one is not, because JSON, base64 and URLs
 * encode them differently. The length of both is a multiple of three bytes, see `leaksOf`.
 */
export const SECRETS: readonly string[] = ['correct-horse battery/9+', 'hunter2/ü"mlaut+secret!']
const CLIENTS = 6
const DEADLINE_MS = 120_000

export interface LoadOptions {
  readonly plan: {
    readonly builds: number
    readonly cancelShare?: number
    readonly approvalShare?: number
    readonly loadMs?: number
    readonly childShare?: number
  }
  readonly random: Random
  readonly requests: Requests
  readonly pipelines: readonly string[]
  readonly runtimes: readonly string[]
  /** What did not happen often enough for the run to count: faults, and `unharmed` builds. The load continues until nothing is missing. */
  readonly missing?: () => readonly string[]
  /** Returns the keys of the steps of running builds. */
  readonly stepKeys?: () => readonly string[]
}

interface Job extends Pick<Parameters<Requests['trigger']>[0], 'key' | 'pipeline' | 'branch' | 'trigger' | 'runtime' | 'steps'> {
  readonly verdicts: readonly { readonly afterMs: number; readonly decision: 'approved' | 'denied' }[]
  readonly cancelAfterMs: number | undefined
  readonly pauseMs: number
  /** Started with the key of a running step, if there is one. */
  readonly isChild: boolean
}

/**
 * Limits of a run whose faults take effect slowly, for example on a busy machine. Multiples of the builds and of the duration of its plan. Builds that
 * nobody harms come last, after the kills, so they have a time of their own.
 */
const MOST_BUILDS = 6
const LONGEST = 15
const LONGEST_UNHARMED = 30
/** Longest pause of the client that continues alone: those of a long plan spread its builds over the faults, which are over by then. Milliseconds. */
const ALONE_MS = 2_000

/**
 * Starts all builds. Resolves when each of them is known to exist or to be refused, and the cancels are answered. Decisions about approvals wait
 * until the approval is requested; `decided` resolves when they are answered.
 */
export async function runLoad(options: LoadOptions): Promise<{ decided: Promise<unknown> }> {
  const { plan, random, requests, pipelines, runtimes, missing = () => [], stepKeys = () => [] } = options
  const makeJob = (n: number): Job => ({
    key: `chaos-${random.seed}-${n}`,
    pipeline: random.pick(pipelines),
    branch: `branch-${random.between(1, 3)}`,
    trigger: `trigger-${random.between(1, 2)}`,
    runtime: random.pick(runtimes),
    steps: makeSteps(random, plan.approvalShare ?? 0.15),
    verdicts: makeVerdicts(random),
    cancelAfterMs: random.chance(plan.cancelShare ?? 0.1) ? random.between(0, 400) : undefined,
    pauseMs: random.between(0, (2 * CLIENTS * (plan.loadMs ?? 0)) / plan.builds),
    isChild: random.chance(plan.childShare ?? 0),
  })
  const jobs = Array.from({ length: plan.builds }, (_, n) => makeJob(n))
  let made = jobs.length
  const begunAt = clock.monotonic()
  const next = (n: number): Job | undefined => {
    const isAllowed = (what: readonly string[]): boolean =>
      clock.monotonic() - begunAt < (isUnharmedAlone(what) ? LONGEST_UNHARMED : LONGEST) * (plan.loadMs ?? 0)
    if (jobs.length === 0 && made < plan.builds * MOST_BUILDS) {
      const what = missing()
      if (isAllowed(what) && isWanted(what, n)) {
        const job = makeJob(made++)
        jobs.push(isUnharmedAlone(what) ? { ...job, pauseMs: Math.min(job.pauseMs, ALONE_MS) } : job)
      }
    }
    return jobs.shift()
  }
  const secrets = Object.fromEntries(SECRETS.map((value, n) => [`TOKEN_${n}`, value]))
  const cancels: Promise<void>[] = []
  const decisions: Promise<void>[] = []
  const client = async (n: number): Promise<void> => {
    for (let job = next(n); job !== undefined; job = next(n)) {
      const { cancelAfterMs, pauseMs, verdicts, isChild, ...given } = job
      const stepKey = isChild ? stepKeys().at(-1) : undefined
      const demand = stepKey === undefined ? given : { ...given, runtime: RUNTIME, steps: STORED_STEPS, stepKey }
      const buildId = await requests.trigger({ ...demand, deadlineMs: DEADLINE_MS, secrets })
      if (buildId !== undefined && cancelAfterMs !== undefined) {
        cancels.push(clock.sleep(cancelAfterMs).then(() => requests.terminate(buildId)))
      }
      if (buildId !== undefined && demand.steps.some(({ isApproval }) => isApproval))
        for (const { afterMs, decision } of verdicts)
          decisions.push(clock.sleep(afterMs).then(() => requests.decide({ buildId, step: GATE, decision })))
      await clock.sleep(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)))
  await Promise.all(cancels)
  return { decided: Promise.all(decisions) }
}

/**
 * Whether client `n` continues the load. If only unharmed builds are missing, the first client continues alone: on a busy machine, the load of six is
 * what keeps the driver from running, and that harms every build.
 */
function isWanted(missing: readonly string[], n: number): boolean {
  return missing.length > 0 && (n === 0 || !isUnharmedAlone(missing))
}

/** Whether nothing but unharmed builds is missing. */
export function isUnharmedAlone(missing: readonly string[]): boolean {
  return missing.length === 1 && missing[0] === 'unharmed'
}

/** One or two users decide, early or late, and may disagree. */
function makeVerdicts(random: Random): { afterMs: number; decision: 'approved' | 'denied' }[] {
  return Array.from({ length: random.between(1, 2) }, () => ({
    afterMs: random.between(0, 3_000),
    decision: random.chance(0.7) ? ('approved' as const) : ('denied' as const),
  }))
}

const GATE = 'gate'

function makeSteps(random: Random, approvalShare: number): StepShape[] {
  if (random.chance(PARALLEL_SHARE)) return sideBySide(random.between(2, 4))
  const names = ['clone', 'lint', 'test', 'image', 'push'].slice(0, random.between(1, 5))
  if (random.chance(approvalShare)) names.splice(random.between(0, names.length), 0, GATE)
  return names.map((name, n) => ({
    name,
    after: names.slice(Math.max(0, n - 1), n),
    failFast: true,
    ...(name === GATE && { isApproval: true }),
  }))
}

/** Share of the builds whose steps run and write in parallel. */
const PARALLEL_SHARE = 0.25

/** One step, then several in parallel, then one that waits for all of them. */
function sideBySide(width: number): StepShape[] {
  const side = Array.from({ length: width }, (_, n) => `side-${n}`)
  return [
    { name: 'clone', after: [], failFast: true },
    ...side.map((name) => ({ name, after: ['clone'], failFast: true })),
    { name: 'join', after: side, failFast: true },
  ]
}
