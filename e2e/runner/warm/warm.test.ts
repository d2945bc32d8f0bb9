/** A pool of ready pairs on the real cluster: who takes one waits for no pod, and a pair goes with the build that took it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, type Installation, startInstallation } from '../../support/installation.ts'

const NAMESPACE = `warm-${process.pid}`
const Final = z.object({ id: z.string(), status: z.string() })
const Pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), uid: z.string() }),
      status: z.object({
        conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
      }),
    }),
  ),
})

let installation: Installation
let pipeline: string
beforeAll(async () => {
  installation = await startInstallation(NAMESPACE)
  const image = installation.images['TOOLS_IMAGE'] ?? ''
  pipeline = await installation.file(
    'warm.yml',
    `version: '1.0'\nsteps:\n  greet:\n    image: ${image}\n    commands: [echo "hello from $CF_BUILD_ID"]\n`,
  )
  const runtime = {
    kind: 'runtime',
    metadata: { name: NAMESPACE },
    spec: {
      type: 'kubernetes',
      agent: 'one-node',
      isDefault: true,
      warmPool: { min: 1, max: 1, maxAgeSeconds: 600 },
      runtimeScheduler: { cluster: { namespace: NAMESPACE } },
      dockerDaemonScheduler: { pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${NAMESPACE}` } } },
    },
  }
  const applied = await installation.windlass('apply', '-f', await installation.file('warm-runtime.yml', JSON.stringify(runtime)))
  expect(applied.code, applied.stderr).toBe(0)
})
afterAll(() => installation?.close())

async function build(): Promise<{ id: string; ms: number; log: string }> {
  const startedAt = performance.now()
  const { code, stdout, stderr } = await installation.windlass('run', '-f', pipeline, '--output', 'json')
  expect(code, stderr).toBe(0)
  const { id, status } = Final.parse(JSON.parse(stdout))
  expect(status).toBe('success')
  return { id, ms: performance.now() - startedAt, log: stderr }
}

/** Names of pods of a kind of which every container is ready. */
async function readyPods(): Promise<string[]> {
  const { items } = Pods.parse(JSON.parse(await installation.kubectl('get', 'pods', '--output', 'json')))
  return items
    .filter(({ status }) => status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True'))
    .map(({ metadata }) => metadata.name)
}

/** The id of a pair that is up and is not one of those. */
async function warmPair(not: readonly string[] = []): Promise<string> {
  return eventually(
    'a pair is ready',
    async () => {
      const names = await readyPods()
      const ids = names.filter((name) => name.startsWith('dind-')).map((name) => name.slice('dind-'.length))
      return ids.find((id) => !not.includes(id) && names.includes(`engine-${id}`))
    },
    120_000,
  )
}

test('a build takes a ready pair and leaves it to nobody; a new pair comes in its place', async () => {
  const cold = await build()
  const first = await warmPair([cold.id])
  // The engine says that it waits a moment after its pod is ready.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  const warm = await build()
  expect(warm.log).toContain(`hello from ${warm.id}`)
  const described = await installation.windlass('describe', 'build', warm.id, '--output', 'json')
  expect(described.stdout, `a pod of its own was made in ${warm.ms} ms; a cold one took ${cold.ms} ms`).toContain(first)
  const second = await warmPair([cold.id, first])
  expect(second).not.toBe(first)
  await eventually('nothing of the pair is left', async () => {
    const left = await installation.kubectl('get', 'pods,secrets,persistentvolumeclaims', '--output', 'name')
    return left.includes(first) ? undefined : true
  })
})

test('a pair whose daemon dies is replaced, and no build notices', async () => {
  const pair = await warmPair()
  await installation.kubectl('delete', 'pod', `dind-${pair}`, '--grace-period=0', '--force')
  const { id } = await build()
  expect(id).toHaveLength(24)
  await warmPair([pair])
})

test('a runtime without a pool keeps none', async () => {
  const runtime = {
    kind: 'runtime',
    metadata: { name: NAMESPACE },
    spec: {
      type: 'kubernetes',
      agent: 'one-node',
      isDefault: true,
      runtimeScheduler: { cluster: { namespace: NAMESPACE } },
      dockerDaemonScheduler: { pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${NAMESPACE}` } } },
    },
  }
  await installation.windlass('apply', '-f', await installation.file('cold-runtime.yml', JSON.stringify(runtime)))
  await eventually(
    'no pod is left',
    async () => ((await installation.kubectl('get', 'pods', '--output', 'name')) === '' ? true : undefined),
    120_000,
  )
})
