/** What a cluster does to builds, and how they end: refusals with the message of the cluster, losses, and leftovers. */
import { isFault } from '@windlass/kit'
import type { Build } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, type Installation, startInstallation } from '../support/installation.ts'

const NAMESPACE = 'losses'
/** Limit of a build, and of each of its parts, on a busy machine. Milliseconds. */
const BUILD_MS = 240_000
/** Label of the objects of builds. */
const LABEL = 'windlass.io/build'

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

async function nothingIsLeft(): Promise<void> {
  await eventually('all objects of builds are gone', async () => {
    const kinds = ['Pod', 'Secret', 'PersistentVolumeClaim'] as const
    const left = await Promise.all(kinds.map((kind) => installation.names(kind, LABEL)))
    return left.flat().length === 0 ? true : undefined
  })
}

/** Returns the names of the disks, each with the number of its uses. */
async function disks(): Promise<string[]> {
  const { kube } = installation.cluster
  const found = await kube.list({ kind: 'PersistentVolume', labels: `pod_namespace=${NAMESPACE}` })
  return found.map(({ metadata }) => `${metadata.name} ${metadata.annotations?.['codefresh.io/mount-count']}`)
}

/** Starts a build of one step and returns its id. */
async function start(commands: readonly string[], runtime = NAMESPACE): Promise<string> {
  const steps = { work: { image: installation.images['TOOLS_IMAGE'], commands } }
  const { id } = await installation.client.builds.create({ document: JSON.stringify({ version: '1.0', steps }), runtime })
  return id
}

async function until(id: string, what: string, is: (build: Build) => boolean): Promise<Build> {
  let build: Build | undefined
  const reached = async (): Promise<Build | undefined> => {
    build = await installation.client.builds.get(id)
    return is(build) ? build : undefined
  }
  return eventually(`build ${what}`, reached, BUILD_MS).catch((error: unknown) => {
    throw new Error(`${JSON.stringify(build)}\n${installation.agent.log().slice(-2000)}`, { cause: error })
  })
}

const isFinal = ({ status }: Build): boolean => ['success', 'error', 'terminated'].includes(status)

/** Waits until the step of a build has written `mark`. */
async function hasSaid(id: string, mark: string): Promise<void> {
  const { builds } = installation.client
  let log = ''
  const hasWritten = async (): Promise<true | undefined> => {
    log = await builds.log(id).catch((error: unknown) => {
      if (!isFault(error, 'not-found')) throw error
      return ''
    })
    return log.includes(mark) ? true : undefined
  }
  await eventually('the step writes', hasWritten, BUILD_MS).catch(async (error: unknown) => {
    throw new Error(`${log}\n${JSON.stringify(await builds.get(id))}\n${installation.agent.log().slice(-2000)}`, { cause: error })
  })
}

const cluster = { namespace: NAMESPACE }

test('reuses the disk of the first build for the second, and leaves only the disk (R100, R245)', async () => {
  const first = await start(['echo one'])
  expect(await until(first, 'ends', isFinal)).toMatchObject({ status: 'success' })
  await nothingIsLeft()
  const [disk] = await disks()
  expect(disk).toMatch(/ 1$/)

  const second = await start(['echo two'])
  expect(await until(second, 'ends', isFinal)).toMatchObject({ status: 'success' })
  await nothingIsLeft()
  expect(await disks()).toEqual([disk?.replace(/ 1$/, ' 2')])
})

test('fails no build when the agent is killed in the middle of it', async () => {
  const id = await start(['echo started', 'sleep 15', 'echo done'])
  await hasSaid(id, 'started')
  await installation.agent.kill9()
  await installation.agent.start()
  expect(await until(id, 'ends', isFinal)).toMatchObject({ status: 'success', attempt: 1 })
  await nothingIsLeft()
})

test('cleans up a build that ends while its agent is away, when the agent is back', async () => {
  // Long enough for the agent to be killed on a busy machine.
  const id = await start(['echo started', 'sleep 20'])
  await hasSaid(id, 'started')
  await installation.agent.kill9()
  try {
    expect(await until(id, 'ends', isFinal)).toMatchObject({ status: 'success', attempt: 1 })
    expect(await installation.names('Pod', LABEL)).not.toEqual([])
  } finally {
    await installation.agent.start()
  }
  await nothingIsLeft()
})

test('continues a build in a second attempt when its Docker daemon is killed', async () => {
  // Long enough for the daemon to be killed on a busy machine.
  const id = await start(['echo started', 'sleep 25', 'echo done'])
  await hasSaid(id, 'started')
  const [name = ''] = (await installation.names('Pod', LABEL)).filter((pod) => pod.startsWith('dind-'))
  const dind = { namespace: NAMESPACE, name }
  // The command may end with the container.
  await installation.cluster.exec(dind, 'sh', '-c', 'kill -9 $(cat /var/run/docker.pid)').catch(() => undefined)
  expect(await until(id, 'ends', isFinal)).toMatchObject({ status: 'success', attempt: 2 })
  await nothingIsLeft()
})

test('leaves neither pods nor claims of a terminated build (R245)', async () => {
  const id = await start(['echo started', 'sleep 600'])
  await hasSaid(id, 'started')
  await installation.client.builds.terminate(id)
  expect(await until(id, 'ends', isFinal)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  await nothingIsLeft()
})

test('lets builds without room wait for one another without a deadlock', async () => {
  const defaultDindResources = { requests: { cpu: '500m', memory: '128Mi' } }
  const pvcs = { dind: { storageClassName: `dind-local-volumes-runner-${NAMESPACE}` } }
  await installation.putRuntime('crowded', {
    runtimeScheduler: { cluster },
    dockerDaemonScheduler: { defaultDindResources, pvcs },
  })
  // More than the node has room for.
  const ids = await Promise.all(Array.from({ length: 5 }, () => start(['echo one of many'], 'crowded')))
  for (const id of ids) expect(await until(id, 'ends', isFinal)).toMatchObject({ status: 'success', attempt: 1 })
  await nothingIsLeft()
})

test('shows the message of the scheduler for a build that fits on no node', async () => {
  await installation.putRuntime('no-room', { runtimeScheduler: { cluster: { ...cluster, nodeSelector: { shelf: 'none' } } } })
  const id = await start(['echo never'], 'no-room')
  const waiting = await until(id, 'shows why it waits', ({ reason }) => reason === 'unschedulable')
  expect(waiting.message).toContain("didn't match Pod's node affinity/selector")
  await installation.client.builds.terminate(id)
  await until(id, 'ends', isFinal)
  await nothingIsLeft()
})

test('ends a build with the message of the kubelet if its engine image cannot be pulled', async () => {
  const spec = { runtimeScheduler: { cluster, image: 'registry.invalid/no/engine:1' }, limits: { pullMs: 2_000, retries: 0 } }
  await installation.putRuntime('no-image', spec)
  const id = await start(['echo never'], 'no-image')
  const build = await until(id, 'ends', isFinal)
  expect(build, JSON.stringify(build)).toMatchObject({ status: 'error', reason: 'pod-image-error' })
  expect(build.message).toContain('registry.invalid/no/engine:1')
  await nothingIsLeft()
})

const Quota = z.object({ status: z.object({ hard: z.object({ pods: z.string() }) }) })

test('ends a build with the message of the API server if a quota refuses it', async () => {
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'tight', namespace: NAMESPACE },
    spec: { hard: { pods: '0' } },
  }
  await installation.cluster.apply(quota)
  await eventually('the quota is active', async () => {
    const { kube } = installation.cluster
    const found = await kube.find({ kind: 'ResourceQuota', namespace: NAMESPACE, name: 'tight' })
    return Quota.safeParse(found).data?.status.hard.pods === '0' ? true : undefined
  })
  const id = await start(['echo never'])
  const build = await until(id, 'ends', isFinal)
  expect(build).toMatchObject({ status: 'error', reason: 'pod-rejected' })
  expect(build.message).toContain('exceeded quota: tight')
  await installation.kubectl('delete', 'resourcequota', 'tight')
  await nothingIsLeft()
})

test('refuses a runtime that requests more than the agent allows', async () => {
  await installation.putRuntime('elsewhere', { runtimeScheduler: { cluster: { namespace: 'kube-system' } } })
  const id = await start(['echo never'], 'elsewhere')
  const build = await until(id, 'ends', isFinal)
  expect(build).toMatchObject({ status: 'error', reason: 'policy-refused' })
  expect(build.message).toContain('metadata.namespace: is "kube-system"')
  expect(build.message).toContain('WINDLASS_AGENT_NAMESPACES')
})
