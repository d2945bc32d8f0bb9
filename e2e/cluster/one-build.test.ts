/** One build on a real Kubernetes from end to end: CLI, server, agent with its Role, engine and daemon in pods. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, type Installation, startInstallation } from '../support/installation.ts'

// Two runs on one machine share the cluster.
const NAMESPACE = `one-build-${process.pid}`
const Final = z.object({
  id: z.string(),
  status: z.string(),
  reason: z.string().nullish(),
  steps: z.array(z.object({ name: z.string(), status: z.string(), exitCode: z.number().nullish() })),
})

let installation: Installation
beforeAll(async () => {
  installation = await startInstallation(NAMESPACE)
})
afterAll(() => installation?.close())

/** Writes a pipeline whose steps run in the small image or in one built from it. */
function pipeline(name: string, steps: string): Promise<string> {
  return installation.file(`${name}.yml`, `version: '1.0'\nsteps:\n${steps}`)
}

async function run(file: string): Promise<{ code: number; log: string; final: z.infer<typeof Final> }> {
  const { code, stdout, stderr } = await installation.windlass('run', '-f', file, '--output', 'json')
  expect(stdout, `${stderr}\n${installation.agent.log()}`).not.toBe('')
  return { code, log: stderr, final: Final.parse(JSON.parse(stdout)) }
}

/** The daemon of the build has an empty disk and no registry, so the tools image in it is the base of the steps. */
const tools = (): string => installation.images['TOOLS_IMAGE'] ?? ''

test('a build runs in pods and leaves only its disk', async () => {
  const file = await pipeline(
    'first',
    `  greet:\n    image: ${tools()}\n    commands:\n      - echo "hello from $CF_STEP_NAME"\n      - cf_export ANSWER=42\n` +
      `  answer:\n    image: ${tools()}\n    commands:\n      - test "$ANSWER" = 42\n      - echo "the answer is $ANSWER"\n`,
  )
  const { code, log, final } = await run(file)
  expect(final, log).toMatchObject({ status: 'success', steps: [{ name: 'greet' }, { name: 'answer' }] })
  expect(code).toBe(0)
  expect(log).toContain('hello from greet')
  expect(log).toContain('the answer is 42')
  await eventually('pods, secrets and claims are gone', async () => {
    const left = await Promise.all((['Pod', 'Secret', 'PersistentVolumeClaim'] as const).map((kind) => installation.names(kind)))
    return left.flat().length === 0 ? true : undefined
  })
  const disks = await installation.cluster.names({ kind: 'PersistentVolume', labels: `pod_namespace=${NAMESPACE}` })
  expect(disks).toHaveLength(1)
})

test('a failing step fails its build with its exit code', async () => {
  const file = await pipeline('failing', `  fails:\n    image: ${tools()}\n    commands:\n      - echo "now"\n      - exit 7\n`)
  const { code, final } = await run(file)
  expect(final).toMatchObject({ status: 'error', steps: [{ name: 'fails', status: 'error', exitCode: 7 }] })
  expect(code).toBe(1)
})

test('a build whose engine pod is deleted continues in a second attempt and succeeds', async () => {
  // Long enough for the pod to be deleted on a busy machine.
  const file = await pipeline(
    'engine-lost',
    `  first:\n    image: ${tools()}\n    commands: [echo done]\n  slow:\n    image: ${tools()}\n    commands:\n      - sleep 25\n      - echo slept\n`,
  )
  // The pods of the previous builds may still be ending.
  const before = new Set(await installation.names('Pod'))
  const running = run(file)
  const engine = await eventually('the slow step runs', async () => {
    const pod = (await installation.names('Pod')).find((name) => name.startsWith('engine-') && !before.has(name))
    if (pod === undefined) return undefined
    const { items } = await installation.client.builds.list()
    return items.some(({ status }) => status === 'running') ? pod : undefined
  })
  await installation.kubectl('delete', 'pod', engine, '--grace-period=0', '--force')
  const { final, log } = await running
  expect(final, log).toMatchObject({ status: 'success' })
  const { stdout } = await installation.windlass('describe', 'build', final.id)
  expect(stdout).toMatch(/attempt/i)
})

test('a follower sees every line once although the server is killed in the middle', async () => {
  const file = await pipeline(
    'counting',
    `  count:\n    image: ${tools()}\n    commands:\n      - for n in $(seq 1 60); do echo "line $n"; sleep 0.1; done\n`,
  )
  const before = new Set(await installation.names('Pod'))
  const running = run(file)
  await eventually('the engine pod exists', async () =>
    (await installation.names('Pod')).find((name) => name.startsWith('engine-') && !before.has(name)),
  )
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  await installation.server.kill9()
  await installation.server.start()
  const { final, log } = await running
  expect(final, log).toMatchObject({ status: 'success' })
  const seen = [...log.matchAll(/^.*?line (\d+)$/gm)].map((match) => Number(match[1]))
  expect(seen).toEqual(Array.from({ length: 60 }, (_, i) => i + 1))
})

test('a missing image ends the build with the message of the registry', async () => {
  const file = await pipeline('no-image', `  nothing:\n    image: registry.invalid/no/such:image\n    commands: [echo never]\n`)
  const { code, final } = await run(file)
  expect(final.status).toBe('error')
  expect(code).toBe(1)
})
