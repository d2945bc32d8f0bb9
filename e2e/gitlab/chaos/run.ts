/** One run of chaos: random jobs on several managers of one runner, with faults, until nothing changes any more. Returns its history. */
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../chaos/faults/random.ts'
import { systemIdOf, type ManagerSettings, type RunnerScene } from '../support/runner-scene.ts'
import type { FakeJob, RecordedRequest } from '../support/fake-coordinator.ts'
import { record } from '../support/fake-jobs.ts'
import { openFaults, type Faults } from './faults.ts'
import type { Call, Harm, History, JobHistory } from './history.ts'
import { openLooks, type Looks } from './looks.ts'
import { randomJobs, type ChaosJob } from './random-jobs.ts'
import { startWitness, type Witness } from './witness.ts'

export interface ChaosOptions {
  readonly scene: RunnerScene
  readonly seed: number
  readonly jobs: number
  /** Faults of managers, of GitLab and of the API server. */
  readonly faults: readonly [number, number, number]
}

export interface ChaosResult {
  readonly history: History
  readonly landed: Readonly<Record<string, number>>
}

interface Running {
  readonly plan: ChaosJob
  readonly fake: FakeJob
  readonly harms: Harm[]
}

const MANAGERS = ['ahab', 'ishmael', 'queequeg'] as const
/** A run ends when nothing has changed for this many looks: longer than a record without a pod is left to the manager that made it. */
const QUIET_LOOKS = 200

/** Runs the chaos of a seed. */
export async function runChaos({ scene, seed, jobs, faults: counts }: ChaosOptions): Promise<ChaosResult> {
  const random = seededRandom(seed)
  await using witness = await startWitness()
  const elsewhere = await scene.addNamespace('elsewhere')
  const looks = await openLooks(scene, [scene.namespace, elsewhere])
  const settings = MANAGERS.map((name): ManagerSettings => ({
    name,
    concurrent: 2,
    kubernetes: `namespace_overwrite_allowed = "^${elsewhere}$"\n`,
  }))
  const faults = await openFaults({ scene, random: random.fork('faults'), settings, counts })
  const first = 1_000
  const plans = randomJobs(
    random.fork('jobs'),
    Array.from({ length: jobs }, (_, n) => first + n),
    witness.command,
  )
  const running = new Map<number, Running>()
  const arrivals = random.fork('arrivals')

  async function arrive(): Promise<void> {
    for (const [n, plan] of plans.entries()) {
      const id = first + n
      running.set(id, { plan, fake: enqueue(scene, { id, plan, elsewhere }), harms: [] })
      await sleep(arrivals.between(0, 5_000))
    }
  }

  const stop = new AbortController()
  const watching = watch({ scene, witness, looks, faults, running, signal: stop.signal })
  let calmAt = 0
  try {
    await Promise.all([faults.run(), arrive()])
    calmAt = Date.now()
    const isGone = (): boolean => looks.list.at(-1)?.objects.length === 0
    await watching.quiet(() => running.size === jobs && [...running.values()].every(isOver) && isGone())
  } finally {
    stop.abort()
    await watching.ended
    looks.close()
  }
  return {
    landed: faults.landed,
    history: {
      seed,
      jobs: [...running].map(([id, one]) => historyOf(id, one, { scene, witness })),
      kills: faults.kills,
      calmAt,
      looks: looks.list,
      living: livingLeases({ scene, looks, faults }),
    },
  }
}

/** Returns the Leases of the managers that run, one for each that has it already. That of an earlier process with its system ID must be gone. */
function livingLeases({ scene, looks, faults }: Pick<WatchOptions, 'scene' | 'looks' | 'faults'>): string[] {
  return faults.living().flatMap((name) => {
    const prefix = `Lease/${scene.namespace}/gitlab-runner-${systemIdOf(name).replace('_', '-')}-`
    return (looks.list.at(-1)?.leases ?? []).filter((lease) => lease.startsWith(prefix)).slice(0, 1)
  })
}

function isOver({ fake, harms }: Running): boolean {
  return fake.final !== undefined || harms.some(({ type }) => type === 'aborted')
}

function enqueue(scene: RunnerScene, job: { id: number; plan: ChaosJob; elsewhere: string }): FakeJob {
  const { id, plan, elsewhere } = job
  const { script, secret, artifacts, isElsewhere } = plan
  const variables = [
    { key: 'JOB_SECRET', value: secret, masked: true },
    ...(isElsewhere ? [{ key: 'KUBERNETES_NAMESPACE_OVERWRITE', value: elsewhere, public: true }] : []),
  ]
  return scene.enqueue(script, { id, token: `glcbt-job-${id}`, variables, artifacts })
}

interface WatchOptions {
  readonly scene: RunnerScene
  readonly witness: Witness
  readonly looks: Looks
  readonly faults: Faults
  readonly running: ReadonlyMap<number, Running>
  readonly signal: AbortSignal
}

/** Looks at the cluster each second, harms jobs whose time has come, and gives jobs again that a dead manager took with it. */
function watch(options: WatchOptions): { readonly ended: Promise<void>; quiet(isDone: () => boolean): Promise<void> } {
  const { scene, witness, looks, faults, running, signal } = options
  let unchanged = 0
  let before = ''

  async function keepWatching(): Promise<void> {
    while (!signal.aborted) {
      for (const [id, one] of running) await harmIfDue(id, one, options)
      const look = await looks.look()
      if (look !== undefined) {
        requeueLost(
          look.objects.map(({ job }) => job),
          options,
        )
        const facts = JSON.stringify([look.objects, look.leases, witness.reports, callsOf(scene)])
        unchanged = facts === before ? unchanged + 1 : 0
        before = facts
      }
      await sleep(1_000)
    }
  }

  return {
    ended: keepWatching(),
    async quiet(isDone) {
      // Leases of dead managers take a minute. A manager that has just started has none yet, so their number alone says nothing.
      const isTidy = (): boolean => {
        const living = livingLeases(options).length
        return isDone() && living === faults.living().length && looks.list.at(-1)?.leases.length === living
      }
      while (!isTidy() && unchanged < QUIET_LOOKS) await sleep(500)
    },
  }
}

/** Number of calls about jobs. */
function callsOf({ coordinator }: RunnerScene): number {
  return coordinator.requests.filter(({ path }) => /^jobs\/\d+/.test(path)).length
}

async function harmIfDue(id: number, { plan, fake, harms }: Running, { witness, looks }: WatchOptions): Promise<void> {
  const { harm } = plan
  const [began] = witness.runsOf(id)
  if (harm === undefined || harms.length > 0 || began === undefined || fake.final !== undefined) return
  if (Date.now() < began + harm.afterMs) return
  if (harm.type === 'pod-deleted') {
    const pod = looks.podOf(id)
    if (pod === undefined) return
    // Before, because a call without an answer may have deleted it as well.
    harms.push({ type: harm.type, at: Date.now() })
    for (let isDeleted = false; !isDeleted;) isDeleted = await looks.deletePod(pod)
    return
  }
  fake.status = harm.type === 'aborted' ? 'canceled' : harm.type
  harms.push({ type: harm.type, at: Date.now() })
}

/** GitLab gives a job again if the manager that received it does not say that it runs it. Here this is known: the manager is dead, and left no record. */
function requeueLost(known: readonly (number | undefined)[], { scene, faults, running }: WatchOptions): void {
  for (const [id, { fake }] of running) {
    const last = fake.given.at(-1)
    const isDead = last !== undefined && faults.kills.some(({ systemId, at }) => systemId === last.systemId && at >= last.at)
    if (isDead && fake.updates.length === 0 && !known.includes(id) && fake.given.length > requeued(fake)) {
      requeues.set(fake, fake.given.length)
      scene.coordinator.requeue(fake)
    }
  }
}

/** How often a job had been given when it was given again. */
const requeues = new WeakMap<FakeJob, number>()
const requeued = (fake: FakeJob): number => requeues.get(fake) ?? 0

function historyOf(
  id: number,
  { plan, fake, harms }: Running,
  { scene, witness }: { readonly scene: RunnerScene; readonly witness: Witness },
): JobHistory {
  return {
    id,
    kind: plan.kind,
    expected: plan.expected,
    secret: plan.secret,
    harms,
    given: fake.given,
    runs: witness.runsOf(id),
    calls: scene.coordinator.requests.flatMap((request) => callOf(id, request)),
    trace: fake.trace,
  }
}

function callOf(id: number, request: RecordedRequest): Call[] {
  const { method, path, at, status = 0, headers, bytes, json } = request
  if (method === 'PATCH' && path === `jobs/${id}/trace`)
    return [{ type: 'patch', at, status, start: Number.parseInt(headers['content-range'] ?? '', 10), bytes }]
  if (method === 'POST' && path === `jobs/${id}/artifacts`) return [{ type: 'upload', at, status, bytes }]
  if (method !== 'PUT' || path !== `jobs/${id}`) return []
  const body = record(json)
  const output = record(body['output'])
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
  const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
  return [
    {
      type: 'update',
      at,
      status,
      state: String(body['state']),
      reason: text(body['failure_reason']),
      exitCode: number(body['exit_code']),
      checksum: text(output['checksum']),
      bytes: number(output['bytesize']),
    },
  ]
}
