/** A pool of warm pairs on the real cluster: a build that takes one waits for no pod, and the pair is removed with the build. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, type Installation, startInstallation } from '../../support/installation.ts'

const NAMESPACE = `warm-${process.pid}`
const Final = z.object({ id: z.string(), status: z.string() })
const Runtimes = z.array(z.object({ name: z.string(), warm: z.object({ ready: z.number() }).optional() }))
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
  const applied = await installation.windlass(
    'apply',
    '-f',
    await runtimeFile('warm', { warmPool: { min: 1, max: 1, maxAgeSeconds: 600 } }),
  )
  expect(applied.code, applied.stderr).toBe(0)
})
afterAll(() => installation?.close())

/** Writes a document of the runtime of this installation with additions to its spec. */
function runtimeFile(name: string, more: object): Promise<string> {
  const runtime = {
    kind: 'runtime',
    metadata: { name: NAMESPACE },
    spec: {
      type: 'kubernetes',
      agent: 'one-node',
      isDefault: true,
      ...more,
      runtimeScheduler: { cluster: { namespace: NAMESPACE } },
      dockerDaemonScheduler: { pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${NAMESPACE}` } } },
    },
  }
  return installation.file(`${name}-runtime.yml`, JSON.stringify(runtime))
}

async function build(): Promise<{ id: string; log: string }> {
  const { code, stdout, stderr } = await installation.windlass('run', '-f', pipeline, '--output', 'json')
  expect(code, stderr).toBe(0)
  const { id, status } = Final.parse(JSON.parse(stdout))
  expect(status).toBe('success')
  return { id, log: stderr }
}

/** Returns the names of engine and daemon pods of which every container is ready. */
async function readyPods(): Promise<string[]> {
  const { items } = Pods.parse(JSON.parse(await installation.kubectl('get', 'pods', '--output', 'json')))
  return items
    .filter(({ status }) => status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True'))
    .map(({ metadata }) => metadata.name)
}

/** Returns the id of a ready pair other than the given ones. */
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

/** Returns the number of pairs that the server could give to a build now. */
async function countReady(): Promise<number> {
  const { stdout } = await installation.windlass('get', 'runtimes', '--output', 'json')
  return Runtimes.parse(JSON.parse(stdout)).find(({ name }) => name === NAMESPACE)?.warm?.ready ?? 0
}

test('a build takes a warm pair exclusively, and a new pair replaces it', async () => {
  const cold = await build()
  const first = await warmPair([cold.id])
  // The engine reports that it waits shortly after its pod is ready.
  await eventually('the server counts the pair as ready', async () => (await countReady()) === 1 || undefined)
  const warm = await build()
  expect(warm.log).toContain(`hello from ${warm.id}`)
  const described = await installation.windlass('describe', 'build', warm.id, '--output', 'json')
  expect(described.stdout, 'the build created a separate pod').toContain(first)
  const second = await warmPair([cold.id, first])
  expect(second).not.toBe(first)
  await eventually('nothing of the pair is left', async () => {
    const left = await installation.kubectl('get', 'pods,secrets,persistentvolumeclaims', '--output', 'name')
    return left.includes(first) ? undefined : true
  })
})

test('a pair whose daemon dies is replaced without effect on builds', async () => {
  const pair = await warmPair()
  await installation.kubectl('delete', 'pod', `dind-${pair}`, '--grace-period=0', '--force')
  const { id } = await build()
  expect(id).toHaveLength(24)
  await warmPair([pair])
})

test('a runtime without a pool keeps no pairs', async () => {
  await installation.windlass('apply', '-f', await runtimeFile('cold', {}))
  await eventually(
    'no pod is left',
    async () => ((await installation.kubectl('get', 'pods', '--output', 'name')) === '' ? true : undefined),
    120_000,
  )
})
