/** What becomes of builds when the cluster itself is in trouble. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/installation.ts'
import { runProgram } from '../../support/process.ts'
import { isLong, openStage, rounds, type Stage } from './stage.ts'

const CLUSTER = fileURLToPath(new URL('../../../scripts/cluster', import.meta.url))
const LONG_STEP = [{ name: 'count', lines: 150, pauseMs: 100 }]

let stage: Stage
beforeAll(async () => {
  stage = await openStage('drill-cluster')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** Stands a part still for some seconds; resolves when it goes on. */
const pause = (part: string, seconds: number): Promise<string> => runProgram(CLUSTER, ['pause', part, String(seconds)])
/** Kills a part and starts it again after some seconds. */
const restart = (part: string, seconds: number): Promise<string> => runProgram(CLUSTER, ['restart', part, String(seconds)])

const nodeStatus = (): Promise<string> =>
  stage.installation.cluster
    .kubectl('get', 'node', 'node1', '--output', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')
    .catch(() => '')
const nodeIsReady = (): Promise<true> =>
  eventually('the node is ready', async () => ((await nodeStatus()) === 'True' ? true : undefined), 120_000)

async function engineOf(id: string): Promise<string> {
  return (await stage.pods(id)).find((name) => name.startsWith('pod/engine-'))?.slice('pod/'.length) ?? ''
}

test('R-06: a kubelet that is killed and comes back harms no build, neither one that runs nor one that begins', async () => {
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

test('R-09: while the API server stands still builds go on to their end, and new ones start when it is back', async () => {
  for (let round = 0; round < rounds(5); round += 1) {
    const running = await stage.trigger(LONG_STEP)
    await stage.speaks(running)
    const back = pause('apiserver', isLong ? 150 : 20)
    const begun = await stage.trigger()
    expect(await stage.finished(running)).toMatchObject({ status: 'success', attempt: 1 })
    await back
    const from = performance.now()
    stage.landed('API server stood still')
    await stage.speaks(begun)
    const tookMs = performance.now() - from
    expect(await stage.finished(begun)).toMatchObject({ status: 'success', attempt: 1 })
    console.log(`R-09: the first line of a new build ${Math.round(tookMs)} ms after the API server went on`)
    // Ten seconds are the aim on a machine that does nothing else.
    expect(tookMs).toBeLessThan(30_000)
  }
  expect(await stage.check()).toEqual([])
})

test('R-30: a build whose engine pod or daemon pod is evicted goes on in a second attempt without anybody helping', async () => {
  for (const kind of Array.from({ length: rounds(5) }, () => ['engine', 'dind'] as const).flat()) {
    const id = await stage.trigger()
    await stage.speaks(id)
    const pod = (await stage.pods(id)).find((name) => name.startsWith(`pod/${kind}-`))?.slice('pod/'.length) ?? ''
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

test('R-30, R154: a drained node lets what is placed on it go, and builds go on when there is room again', async () => {
  const { cluster } = stage.installation
  for (let round = 0; round < rounds(5); round += 1) {
    const id = await stage.trigger()
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

test('R-06, R244: a node that is removed from the cluster and comes back costs a build an attempt at most', async () => {
  const { cluster } = stage.installation
  for (let round = 0; round < rounds(5); round += 1) {
    const id = await stage.trigger(LONG_STEP)
    await stage.speaks(id)
    const before = await engineOf(id)
    // A kubelet registers its node when it starts, and not again.
    const back = restart('kubelet', isLong ? stage.random.between(2, 60) : 3)
    await sleep(500)
    await cluster.kubectl('delete', 'node', 'node1')
    stage.landed(`node removed under ${before === '' ? 'nothing' : 'a build'}`)
    await back
    await nodeIsReady()
    const build = await stage.finished(id, 180_000)
    expect(build).toMatchObject({ status: 'success' })
    expect(build.attempt).toBeLessThanOrEqual(2)
  }
  expect(await stage.check()).toEqual([])
})
