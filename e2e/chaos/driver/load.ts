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
  readonly plan: { readonly builds: number; readonly cancelShare?: number; readonly loadMs?: number }
  readonly random: Random
  readonly requests: Requests
  readonly pipelines: readonly string[]
}

/** Asks for all builds; resolves when every one of them is known to exist or to be refused, and the cancels are answered. */
export async function runLoad({ plan, random, requests, pipelines }: LoadOptions): Promise<void> {
  const jobs = Array.from({ length: plan.builds }, (_, n) => ({
    key: `chaos-${random.seed}-${n}`,
    pipeline: random.pick(pipelines),
    steps: makeSteps(random),
    cancelAfterMs: random.chance(plan.cancelShare ?? 0.1) ? random.between(0, 400) : undefined,
    pauseMs: random.between(0, (2 * CLIENTS * (plan.loadMs ?? 0)) / plan.builds),
  }))
  const cancels: Promise<void>[] = []
  const client = async (): Promise<void> => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      const { cancelAfterMs, pauseMs, ...demand } = job
      const buildId = await requests.trigger({ ...demand, runtime: RUNTIME, deadlineMs: DEADLINE_MS, secrets: { TOKEN: SECRET } })
      if (buildId !== undefined && cancelAfterMs !== undefined) {
        cancels.push(clock.sleep(cancelAfterMs).then(() => requests.terminate(buildId)))
      }
      await clock.sleep(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await Promise.all(cancels)
}

function makeSteps(random: Random): StepShape[] {
  const names = ['clone', 'lint', 'test', 'image', 'push'].slice(0, random.between(1, 5))
  return names.map((name, n) => ({ name, after: names.slice(Math.max(0, n - 1), n), failFast: true }))
}
