/** How builds end when the cluster itself fails. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/installation.ts'
import { runProgram } from '../../support/process.ts'
import { isLong } from '../../support/long.ts'
import { openStage, rounds, type Stage } from './stage.ts'

const CLUSTER = fileURLToPath(new URL('../../../scripts/cluster', import.meta.url))
/** Lasts until a fault has hit its build, some calls of kubectl later. */
const LONG_STEP = [{ name: 'count', lines: 150, pauseMs: 100 }]

let stage: Stage
beforeAll(async () => {
  stage = await openStage('drill-cluster')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** Freezes a component for some seconds. Resolves when it continues. */
const pause = (part: string, seconds: number): Promise<string> => runProgram(CLUSTER, ['pause', part, String(seconds)])
/** Kills a component and starts it again after some seconds. */
const restart = (part: string, seconds: number): Promise<string> => runProgram(CLUSTER, ['restart', part, String(seconds)])

const nodeStatus = (): Promise<string> =>
  stage.installation.cluster
    .kubectl('get', 'node', 'node1', '--output', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')
    .catch(() => '')
const nodeIsReady = (): Promise<true> =>
  eventually('the node is ready', async () => ((await nodeStatus()) === 'True' ? true : undefined), 180_000)

async function engineOf(id: string): Promise<string> {
  return (await stage.pods(id)).find((name) => name.startsWith('engine-')) ?? ''
}

test('a kubelet that is killed and restarted affects no running or starting build (R-06)', async () => {
  for (let round = 0; round < rounds(5); round += 1) {
    const running = await stage.trigger(LONG_STEP)
    await stage.speaks(running)
    const back = restart('kubelet', isLong ? stage.random.between(5, 90) : 6)
    const begun = await stage.trigger()
    expect(await stage.finished(running)).toMatchObject({ status: 'success', attempt: 1 })
    await back
    stage.landed('kubelet killed')
    await nodeIsReady()
    expect(await stage.finished(begun)).toMatchObject({ status: 'success', attempt: 1 })
  }
  expect(await stage.check()).toEqual([])
})

test('builds finish while the API server is frozen, and new ones start when it is back (R-09)', async () => {
  for (let round = 0; round < rounds(5); round += 1) {
    const running = await stage.trigger(LONG_STEP)
    await stage.speaks(running)
    const back = pause('apiserver', isLong ? 150 : 20)
    const begun = await stage.trigger()
    expect(await stage.finished(running)).toMatchObject({ status: 'success', attempt: 1 })
    await back
    stage.landed('API server frozen')
    await stage.speaks(begun)
    expect(await stage.finished(begun)).toMatchObject({ status: 'success', attempt: 1 })
  }
  expect(await stage.check()).toEqual([])
})

test('a build whose engine or daemon pod is evicted continues in a second attempt (R-30)', async () => {
  for (const kind of Array.from({ length: rounds(5) }, () => ['engine', 'dind'] as const).flat()) {
    const id = await stage.trigger(LONG_STEP)
    await stage.speaks(id)
    const pod = (await stage.pods(id)).find((name) => name.startsWith(`${kind}-`)) ?? ''
    const { namespace } = stage.installation
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace } }
    const file = await stage.installation.file('eviction.json', JSON.stringify(eviction))
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`
    await stage.installation.kubectl('create', '--raw', path, '--filename', file)
    stage.landed(`${kind} evicted`)
    const build = await stage.finished(id)
    expect(build).toMatchObject({ status: 'success', attempt: 2 })
    expect(build.attempts?.[0]?.reason).toBe('evicted')
  }
  expect(await stage.check()).toEqual([])
})

test('builds on a drained node stop, and continue when there is room again (R-30, R154)', async () => {
  const { cluster } = stage.installation
  for (let round = 0; round < rounds(5); round += 1) {
    const id = await stage.trigger(LONG_STEP)
    await stage.speaks(id)
    try {
      await cluster.kubectl('cordon', 'node1')
      const selector = `--pod-selector=windlass.io/build=${id}`
      await cluster.kubectl('drain', 'node1', selector, '--force', '--delete-emptydir-data', '--timeout=60s')
      stage.landed('node drained')
      const waits = async (): Promise<true | undefined> => ((await stage.look(id)).reason === 'unschedulable' ? true : undefined)
      await eventually('the second attempt says that it waits for room', waits)
    } finally {
      await cluster.kubectl('uncordon', 'node1')
    }
    expect(await stage.finished(id)).toMatchObject({ status: 'success', attempt: 2 })
  }
  expect(await stage.check()).toEqual([])
})

test('a node that is removed from the cluster and returns costs a build at most one attempt (R-06, R244)', async () => {
  const { cluster } = stage.installation
  for (let round = 0; round < rounds(5); round += 1) {
    const id = await stage.trigger(LONG_STEP)
    await stage.speaks(id)
    const before = await engineOf(id)
    // A kubelet registers its node only when it starts.
    const back = restart('kubelet', isLong ? stage.random.between(2, 60) : 3)
    await sleep(500)
    await cluster.kubectl('delete', 'node', 'node1')
    stage.landed(`node removed under ${before === '' ? 'nothing' : 'a build'}`)
    await back
    await nodeIsReady()
    const build = await stage.finished(id)
    expect(build).toMatchObject({ status: 'success' })
    expect(build.attempt).toBeLessThanOrEqual(2)
  }
  expect(await stage.check()).toEqual([])
})
