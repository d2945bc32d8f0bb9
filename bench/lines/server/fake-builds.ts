/** Throughput of the control plane in builds if the work itself costs nothing. */
import { durableCommitsPerSecond } from '../../floors/commits.ts'
import { cpuSeconds, peakRssMiB } from '../../floors/processes.ts'
import { single, type Line, type Row } from '../../row.ts'
import { openFakeStack, type FakeStack } from '../../stack/fake.ts'

const BUILDS = 1_000
/** A key may have ten calls with documents at once. */
const IN_FLIGHT = 8
const WARM_UP = 50

/** From the first submit to the last recorded success, one server on SQLite; the floor is one durable commit. */
export const fakeBuilds: Line = { name: 'fake-builds', measure }

async function measure(): Promise<Row[]> {
  await using stack = await openFakeStack()
  await submitAll(stack, WARM_UP)
  await allDone(stack)
  const cpuBefore = await cpuSeconds(stack.server.pid ?? 0)
  const startedAt = performance.now()
  await submitAll(stack, BUILDS)
  await allDone(stack)
  const seconds = (performance.now() - startedAt) / 1_000
  const cpu = (await cpuSeconds(stack.server.pid ?? 0)) - cpuBefore
  const rss = await peakRssMiB(stack.server.pid ?? 0)
  return [
    {
      name: 'fake-builds',
      figure: `${BUILDS} builds of one step through server, agent and fake engines on SQLite, ${IN_FLIGHT} submits in flight`,
      unit: '1/s',
      value: single(BUILDS / seconds),
      warmUp: WARM_UP,
      floor: { what: 'durable one-row commits per second of node:sqlite', value: single(await durableCommitsPerSecond(1_000)) },
      goal: 100,
      note: `server: ${((cpu * 1_000) / BUILDS).toFixed(1)} ms of processor per build, peak ${rss.toFixed(0)} MiB; driver, agent and engines share the machine`,
    },
  ]
}

async function submitAll(stack: FakeStack, count: number): Promise<void> {
  let left = count
  const submitter = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      await stack.submit()
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, submitter))
}

/** Requests only one build of each unfinished kind, so that polling costs nothing compared with the work. */
async function allDone({ client }: FakeStack): Promise<void> {
  for (;;) {
    const counts = await Promise.all(
      (['pending', 'elected', 'running', 'terminating'] as const).map(async (status) => {
        const { items } = await client.builds.list({ query: { status, limit: 1 } })
        return items.length
      }),
    )
    if (counts.every((count) => count === 0)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
