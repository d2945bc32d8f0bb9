/** Which jobs a manager takes over, against a small API server. */
import { manualClock, type ManualClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { advanceUntil, keptLog, turns } from '../../../../../e2e/gitlab/support/coordinator-pair.ts'
import { openFakeKube, type FakeKube } from '../../../../agent/test/support/fake-kube.ts'
import { pack } from '../../helper/program.ts'
import { LABELS, SECRET_KEYS, type JobRecord } from '../records/job-record.ts'
import { openSite } from './site.ts'

const [OWN, OTHER] = ['r_own.1', 'r_other.1']
const POD = 'runner-7'

function record(more: Partial<JobRecord> = {}): JobRecord {
  return {
    version: 1,
    jobId: 7,
    jobToken: 'glcbt-seven',
    runner: 'shop',
    pod: POD,
    ownsNamespace: false,
    createdAt: 0,
    timeoutS: 3_600,
    supportedReasons: [],
    isDebug: false,
    hasServices: false,
    shownServices: [],
    hasSections: false,
    projectId: 5,
    concurrentId: 0,
    concurrentProjectId: 0,
    trace: { masked: [], tokenPrefixes: [], masksAllTokens: false, hasTimes: false, limit: 1_024 },
    intro: [],
    ...more,
  }
}

interface Setup {
  readonly api: FakeKube
  readonly clock: ManualClock
  readonly found: string[]
}

/** Opens a site that sees the record of a job of a manager. The pod of the job is there only if it is wanted. */
async function open({
  manager,
  accepts = true,
  hasPod = false,
  record: of = record(),
  prepare,
}: {
  readonly manager: string
  readonly accepts?: boolean
  readonly hasPod?: boolean
  readonly record?: JobRecord
  readonly prepare?: (api: FakeKube) => void
}): Promise<Setup> {
  const api = await openFakeKube()
  const kube = api.kube()
  const labels = { [LABELS.job]: '7', [LABELS.manager]: manager }
  const metadata = { name: POD, namespace: 'ci', labels }
  const data = { [SECRET_KEYS.record]: pack(of).toString('base64') }
  await kube.create({ apiVersion: 'v1', kind: 'Secret', metadata, data })
  if (hasPod) await kube.create({ apiVersion: 'v1', kind: 'Pod', metadata })
  api.calls.length = 0
  prepare?.(api)
  const clock = manualClock()
  const found: string[] = []
  const site = openSite({
    kube,
    namespace: 'ci',
    instance: OWN,
    host: 'here',
    clock,
    log: keptLog(),
    isFollowed: () => found.length > 0,
    accepts: () => accepts,
    onTaken: () => undefined,
    onFound: (job) => void found.push(job.record.pod),
  })
  onTestFinished(async () => {
    await site.close()
    await api[Symbol.asyncDispose]()
  })
  return { api, clock, found }
}

/** Lets time pass in steps that give the loops of the site their turns. */
async function pass(clock: ManualClock, seconds: number): Promise<void> {
  for (let n = 0; n < seconds; n += 5) {
    await turns(60)
    clock.advance(5_000)
  }
  await turns()
}

const leaseCalls = ({ api }: Setup): string[] =>
  api.writes().flatMap(({ line }) => (line.includes('leases/gitlab-runner-r-other') ? [line] : []))

test('a job of another manager that is gone is continued at once if it has a pod', async () => {
  const { clock, found } = await open({ manager: OTHER, hasPod: true })
  await advanceUntil(clock, 100, () => found.length > 0)
  expect(clock.monotonic()).toBeLessThan(60_000)
})

test('a job without a pod is left to its manager for three minutes, because that may still create the pod', async () => {
  const setup = await open({ manager: OTHER })
  const { clock, found } = setup
  await pass(clock, 150)
  expect([found, leaseCalls(setup)]).toEqual([[], []])
  await advanceUntil(clock, 1_000, () => found.length > 0)
  expect(clock.monotonic()).toBeGreaterThan(170_000)
})

test('a job whose record is older, and that has no pod, is continued at once', async () => {
  const { clock, found } = await open({ manager: OTHER, record: record({ createdAt: -200_000 }) })
  await advanceUntil(clock, 100, () => found.length > 0)
  expect(clock.monotonic()).toBeLessThan(60_000)
})

test('a wrong clock of another manager does not leave its job alone for ever', async () => {
  const { clock, found } = await open({ manager: OTHER, record: record({ createdAt: 3_600_000 }) })
  await advanceUntil(clock, 1_000, () => found.length > 0)
  expect(clock.monotonic()).toBeLessThan(600_000)
})

test('no Lease is created for jobs of runners that this manager does not have, and their records are read once', async () => {
  const setup = await open({ manager: OTHER, accepts: false, hasPod: true })
  await pass(setup.clock, 60)
  expect(setup.found).toEqual([])
  expect(leaseCalls(setup)).toEqual([])
  expect(setup.api.calls.filter(({ line }) => line === `GET secrets/${POD}`)).toHaveLength(1)
})

test('an account that may not hold a Lease continues its own job that it has given up, and no other', async () => {
  const prepare = (api: FakeKube): void => {
    api.intercept = ({ plural }) => (plural === 'leases' ? { status: 403, reason: 'Forbidden' } : undefined)
  }
  const own = await open({ manager: OWN, prepare })
  await advanceUntil(own.clock, 1_000, () => own.found.length > 0)
  const other = await open({ manager: OTHER, hasPod: true, prepare })
  await pass(other.clock, 120)
  expect(other.found).toEqual([])
})
