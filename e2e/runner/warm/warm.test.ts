/** A pool of warm pairs on the real cluster: a build that takes one waits for no pod, and the pair is removed with the build. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, type Installation, startInstallation } from '../../support/installation.ts'

const NAMESPACE = `warm-${process.pid}`
const Pod = z.object({
  metadata: z.object({ name: z.string(), deletionTimestamp: z.string().optional() }),
  status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]) }),
})

let installation: Installation
beforeAll(async () => {
  installation = await startInstallation(NAMESPACE)
  await setRuntime({ warmPool: { min: 1, max: 1, maxAgeSeconds: 600 } })
})
afterAll(() => installation?.close())

/** Replaces the runtime of this installation by one with additions to its fields. */
function setRuntime(more: object): Promise<void> {
  return installation.putRuntime(NAMESPACE, {
    ...more,
    runtimeScheduler: { cluster: { namespace: NAMESPACE } },
    dockerDaemonScheduler: { pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${NAMESPACE}` } } },
  })
}

async function build(): Promise<{ id: string; log: string }> {
  const steps = { greet: { image: installation.images['TOOLS_IMAGE'], commands: ['echo "hello from $CF_BUILD_ID"'] } }
  const { build: ended, log } = await installation.run({ document: JSON.stringify({ version: '1.0', steps }) })
  expect(ended.status, log).toBe('success')
  return { id: ended.id, log }
}

/** Returns the names of engine and daemon pods of which every container is ready, and which are not being deleted. */
async function readyPods(): Promise<string[]> {
  const pods = await installation.cluster.kube.list({ kind: 'Pod', namespace: NAMESPACE })
  return pods
    .map((pod) => Pod.parse(pod))
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter(({ status }) => status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True'))
    .map(({ metadata }) => metadata.name)
}

/** Returns the id of a ready pair that the text does not name. */
async function warmPair(used = ''): Promise<string> {
  return eventually(
    'a pair is ready',
    async () => {
      const names = await readyPods()
      const ids = names.filter((name) => name.startsWith('dind-')).map((name) => name.slice('dind-'.length))
      return ids.find((id) => !used.includes(id) && names.includes(`engine-${id}`))
    },
    180_000,
  )
}

/** Returns the number of pairs that the server could give to a build now. */
async function countReady(): Promise<number> {
  return (await installation.client.runtimes.get(NAMESPACE)).warm?.ready ?? 0
}

test('a build takes a warm pair exclusively, and a new pair replaces it', async () => {
  const describe = async (id: string): Promise<string> =>
    (await installation.windlass('describe', 'build', id, '--output', 'json')).stdout
  // On a busy machine the first pair may be ready for this build.
  const cold = await describe((await build()).id)
  // The engine reports that it waits shortly after its pod is ready.
  await eventually('the server counts the pair as ready', async () => (await countReady()) === 1 || undefined)
  const first = await warmPair(cold)
  const warm = await build()
  expect(warm.log).toContain(`hello from ${warm.id}`)
  expect(await describe(warm.id), 'the build created a separate pod').toContain(first)
  const second = await warmPair(`${cold} ${first}`)
  expect(second).not.toBe(first)
  await eventually('nothing of the pair is left', async () => {
    const kinds = ['Pod', 'Secret', 'PersistentVolumeClaim'] as const
    const left = await Promise.all(kinds.map((kind) => installation.names(kind)))
    return left.flat().some((name) => name.includes(first)) ? undefined : true
  })
})

test('a pair whose daemon dies is replaced without effect on builds', async () => {
  const pair = await warmPair()
  await installation.kubectl('delete', 'pod', `dind-${pair}`, '--grace-period=0', '--force')
  const { id } = await build()
  expect(id).toHaveLength(24)
  await warmPair(pair)
})

test('a runtime without a pool keeps no pairs', async () => {
  await setRuntime({})
  await eventually('no pod is left', async () => ((await installation.names('Pod')).length === 0 ? true : undefined), 180_000)
})
