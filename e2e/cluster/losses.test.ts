/** What a cluster does to builds, and how they end: refusals with the message of the cluster, losses, and leftovers. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, type Installation, startInstallation } from '../support/installation.ts'

const NAMESPACE = 'losses'
/** Maximum time until the reason of a delayed build is visible. Milliseconds. */
const REPORTED_MS = 30_000

const Build = z.object({
  id: z.string(),
  status: z.string(),
  reason: z.string().nullish(),
  message: z.string().nullish(),
  attempt: z.number(),
})
type Build = z.infer<typeof Build>

let installation: Installation
beforeAll(async () => {
  const nowhere = { nodeSelector: { shelf: 'none' } }
  const onDindNodes = { tolerations: [{ key: 'codefresh/dind', operator: 'Exists', effect: 'NoSchedule' }] }
  const placements = [{}, onDindNodes, nowhere, { ...nowhere, ...onDindNodes }]
  installation = await startInstallation(NAMESPACE, {
    agentEnv: { WINDLASS_AGENT_PLACEMENTS: JSON.stringify(placements) },
  })
})
afterAll(() => installation?.close())

async function objects(kind: string): Promise<string[]> {
  const lines = await installation.kubectl('get', kind, '--selector', 'windlass.io/build', '--output', 'name')
  return lines.split('\n').filter((line) => line !== '')
}

async function nothingIsLeft(): Promise<void> {
  await eventually('all objects of builds are gone', async () => {
    const left = [...(await objects('pods')), ...(await objects('secrets')), ...(await objects('persistentvolumeclaims'))]
    return left.length === 0 ? true : undefined
  })
}

async function disks(): Promise<string[]> {
  const columns = 'jsonpath={range .items[*]}{.metadata.name} {.metadata.annotations.codefresh\\.io/mount-count}{"\\n"}{end}'
  const selector = `pod_namespace=${NAMESPACE}`
  const lines = await installation.cluster.kubectl('get', 'persistentvolumes', '--selector', selector, '--output', columns)
  return lines.split('\n').filter((line) => line !== '')
}

/** Starts a build of one step and returns its id. */
async function start(name: string, commands: readonly string[], runtime = NAMESPACE): Promise<string> {
  const image = installation.images['TOOLS_IMAGE']
  const list = commands.map((command) => `      - ${command}\n`).join('')
  const document = `version: '1.0'\nsteps:\n  work:\n    image: ${image}\n    commands:\n${list}`
  const file = await installation.file(`${name}.yml`, document)
  const { code, stdout, stderr } = await installation.windlass('run', '-f', file, '--runtime', runtime, '--detach')
  expect(code, stderr).toBe(0)
  return stdout.trim()
}

async function look(id: string): Promise<Build> {
  const { stdout, stderr } = await installation.windlass('get', 'builds', id, '--output', 'json')
  const answer: unknown = JSON.parse(stdout === '' ? stderr : stdout)
  return Build.parse(Array.isArray(answer) ? answer[0] : answer)
}

async function until(id: string, what: string, is: (build: Build) => boolean, timeoutMs = 90_000): Promise<Build> {
  let build: Build | undefined
  const reached = async (): Promise<Build | undefined> => {
    build = await look(id)
    return is(build) ? build : undefined
  }
  return eventually(`build ${what}`, reached, timeoutMs).catch((error: unknown) => {
    throw new Error(`${JSON.stringify(build)}\n${installation.agent.log().slice(-2000)}`, { cause: error })
  })
}

const isFinal = ({ status }: Build): boolean => ['success', 'error', 'terminated'].includes(status)

/** Waits until the step of a build has written `mark`. */
async function hasSaid(id: string, mark: string): Promise<void> {
  let last = ''
  const hasWritten = async (): Promise<true | undefined> => {
    const { stdout, stderr } = await installation.windlass('logs', id)
    last = stdout + stderr
    return stdout.includes(mark) ? true : undefined
  }
  await eventually('the step writes', hasWritten, 40_000).catch(async (error: unknown) => {
    throw new Error(`${last}\n${JSON.stringify(await look(id))}\n${installation.agent.log().slice(-2000)}`, { cause: error })
  })
}

/** Adds a runtime of the same agent with other settings. */
async function addRuntime(name: string, spec: object): Promise<void> {
  const document = { kind: 'runtime', metadata: { name }, spec: { type: 'kubernetes', agent: 'one-node', ...spec } }
  const { code, stderr } = await installation.windlass(
    'apply',
    '-f',
    await installation.file(`${name}.json`, JSON.stringify(document)),
  )
  expect(code, stderr).toBe(0)
}

const cluster = { namespace: NAMESPACE }

test('reuses the disk of the first build for the second, and leaves only the disk (R100, R245)', async () => {
  const first = await start('first', ['echo one'])
  expect(await until(first, 'ends', isFinal)).toMatchObject({ status: 'success' })
  await nothingIsLeft()
  const [disk] = await disks()
  expect(disk).toMatch(/ 1$/)

  const second = await start('second', ['echo two'])
  expect(await until(second, 'ends', isFinal)).toMatchObject({ status: 'success' })
  await nothingIsLeft()
  expect(await disks()).toEqual([disk?.replace(/ 1$/, ' 2')])
})

test('fails no build when the agent is killed in the middle of it', async () => {
  const id = await start('agent-killed', ['echo started', 'sleep 6', 'echo done'])
  await hasSaid(id, 'started')
  await installation.agent.kill9()
  await installation.agent.start()
  expect(await until(id, 'ends', isFinal)).toMatchObject({ status: 'success', attempt: 1 })
  await nothingIsLeft()
})

test('cleans up a build that ends while its agent is away, when the agent is back', async () => {
  const id = await start('agent-away', ['echo started', 'sleep 3'])
  await hasSaid(id, 'started')
  await installation.agent.kill9()
  expect(await until(id, 'ends', isFinal)).toMatchObject({ status: 'success', attempt: 1 })
  expect(await objects('pods')).not.toEqual([])
  await installation.agent.start()
  await nothingIsLeft()
})

test('continues a build in a second attempt when its Docker daemon is killed', async () => {
  // Long enough for the daemon to be killed on a busy machine.
  const id = await start('dind-killed', ['echo started', 'sleep 25', 'echo done'])
  await hasSaid(id, 'started')
  const [pod = ''] = (await objects('pods')).filter((name) => name.includes('/dind-'))
  const dind = { namespace: NAMESPACE, name: pod.replace('pod/', '') }
  await installation.cluster.exec(dind, 'sh', '-c', 'kill -9 $(cat /var/run/docker.pid)')
  expect(await until(id, 'ends', isFinal, 120_000)).toMatchObject({ status: 'success', attempt: 2 })
  await nothingIsLeft()
})

test('leaves neither pods nor claims of a terminated build (R245)', async () => {
  const id = await start('cancelled', ['echo started', 'sleep 600'])
  await hasSaid(id, 'started')
  const { code, stderr } = await installation.windlass('terminate', id)
  expect(code, stderr).toBe(0)
  expect(await until(id, 'ends', isFinal)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  await nothingIsLeft()
})

test('lets builds without room wait for one another without a deadlock', async () => {
  const defaultDindResources = { requests: { cpu: '500m', memory: '128Mi' } }
  const pvcs = { dind: { storageClassName: `dind-local-volumes-runner-${NAMESPACE}` } }
  await addRuntime('crowded', { runtimeScheduler: { cluster }, dockerDaemonScheduler: { defaultDindResources, pvcs } })
  const names = Array.from({ length: 8 }, (_, i) => `crowd-${i}`)
  const ids = await Promise.all(names.map((name) => start(name, ['echo one of many'], 'crowded')))
  for (const id of ids) expect(await until(id, 'ends', isFinal, 240_000)).toMatchObject({ status: 'success', attempt: 1 })
  await nothingIsLeft()
})

test('shows the message of the scheduler for a build that fits on no node', async () => {
  await addRuntime('no-room', { runtimeScheduler: { cluster: { ...cluster, nodeSelector: { shelf: 'none' } } } })
  const id = await start('no-room', ['echo never'], 'no-room')
  const waiting = await until(id, 'shows why it waits', ({ reason }) => reason === 'unschedulable', REPORTED_MS)
  expect(waiting.message).toContain("didn't match Pod's node affinity/selector")
  await installation.windlass('terminate', id)
  await until(id, 'ends', isFinal)
  await nothingIsLeft()
})

test('ends a build with the message of the kubelet if its engine image cannot be pulled', async () => {
  const spec = { runtimeScheduler: { cluster, image: 'registry.invalid/no/engine:1' }, limits: { pullMs: 2_000, retries: 0 } }
  await addRuntime('no-image', spec)
  const id = await start('no-image', ['echo never'], 'no-image')
  const build = await until(id, 'ends', isFinal, REPORTED_MS)
  expect(build, JSON.stringify(build)).toMatchObject({ status: 'error', reason: 'pod-image-error' })
  expect(build.message).toContain('registry.invalid/no/engine:1')
  await nothingIsLeft()
})

test('ends a build with the message of the API server if a quota refuses it', async () => {
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'tight', namespace: NAMESPACE },
    spec: { hard: { pods: '0' } },
  }
  await installation.cluster.apply(quota)
  await eventually('the quota is active', async () => {
    const used = await installation.kubectl('get', 'resourcequota', 'tight', '--output', 'jsonpath={.status.hard.pods}')
    return used === '0' ? true : undefined
  })
  const id = await start('quota', ['echo never'])
  const build = await until(id, 'ends', isFinal, REPORTED_MS)
  expect(build).toMatchObject({ status: 'error', reason: 'pod-rejected' })
  expect(build.message).toContain('exceeded quota: tight')
  await installation.kubectl('delete', 'resourcequota', 'tight')
  await nothingIsLeft()
})

test('refuses a runtime that requests more than the agent allows', async () => {
  await addRuntime('elsewhere', { runtimeScheduler: { cluster: { namespace: 'kube-system' } } })
  const id = await start('elsewhere', ['echo never'], 'elsewhere')
  const build = await until(id, 'ends', isFinal, REPORTED_MS)
  expect(build).toMatchObject({ status: 'error', reason: 'policy-refused' })
  expect(build.message).toContain('metadata.namespace: is "kube-system"')
  expect(build.message).toContain('WINDLASS_AGENT_NAMESPACES')
})
