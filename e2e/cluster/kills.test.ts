/** Kills on a real Kubernetes: whichever process dies during a build, the build ends properly and its log is complete. */
import { readdir, readFile } from 'node:fs/promises'
import type { Build, FeedItem } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { eventually, type Installation, type Restartable, startInstallation } from '../support/installation.ts'
import { isLong } from '../support/long.ts'

const NAMESPACE = `kills-${process.pid}`
const ROUNDS = isLong ? 10 : 1
const SEED = Number(process.env['WINDLASS_SEED'] ?? Math.trunc(Math.random() * 1e9))

const Final = z.object({ status: z.string(), reason: z.string().nullish() })
const Restarts = z.object({
  status: z.object({ containerStatuses: z.array(z.object({ name: z.string(), restartCount: z.int() })) }),
})

let installation: Installation
beforeAll(async () => {
  installation = await startInstallation(NAMESPACE)
  console.log(`WINDLASS_SEED=${SEED}`)
})
afterAll(() => installation?.close())

/** Returns a generator (mulberry32): the seed determines the moments of a run, so that it can be repeated. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

async function podOf(kind: 'engine' | 'dind'): Promise<string | undefined> {
  const { cluster, namespace } = installation
  const running = await cluster.names({ kind: 'Pod', namespace, fields: 'status.phase=Running' })
  return running.find((name) => name.startsWith(`${kind}-`))
}

/** Kills by victim, given a generator of moments. A pod that is already gone counts as a kill that hit nothing. */
const VICTIMS: Readonly<Record<string, (draw: () => number) => Promise<void>>> = {
  'server and agent': async (draw) => {
    const kill = async (victim: Restartable, seconds: number): Promise<void> => {
      await sleep(seconds * 1_000)
      await victim.kill9()
      await victim.start()
    }
    const { server, agent } = installation
    await Promise.all([kill(server, draw() * 6), kill(agent, draw() * 6)])
  },
  engine: (draw) => sleep(draw() * 6_000).then(() => killPod('engine')),
  'engine process': (draw) => sleep(draw() * 6_000).then(killEngine),
  dind: (draw) => sleep(draw() * 6_000).then(() => killPod('dind')),
}

async function killPod(kind: 'engine' | 'dind'): Promise<void> {
  const pod = await podOf(kind)
  if (pod !== undefined) await installation.kubectl('delete', 'pod', pod, '--grace-period=0', '--force', '--ignore-not-found')
}

/** Kills the process of the engine on this node, as the kernel does when its memory limit is reached; its pod stays. */
async function killEngine(): Promise<void> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const read = (file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
    const isEngine = (await read('cmdline')).includes('dist/engine.js')
    if (isEngine && (await read('environ')).includes(`WINDLASS_ENGINE_SERVER_URL=${installation.url}\0`))
      killIfRunning(Number(pid))
  }
}

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Its build has ended since it was found.
  }
}

const cases = Array.from({ length: ROUNDS }, (_, round) => Object.keys(VICTIMS).map((victim) => ({ victim, round }))).flat()

test.each(cases)('a build survives a kill of its $victim (round $round)', async ({ victim, round }) => {
  const victims = Object.keys(VICTIMS)
  const draw = random(SEED + round * victims.length + victims.indexOf(victim))
  const image = installation.images['TOOLS_IMAGE'] ?? ''
  const file = await installation.file(
    'count.yml',
    `version: '1.0'\nsteps:\n  first:\n    image: ${image}\n    commands: [echo first]\n` +
      `  count:\n    image: ${image}\n    commands:\n      - for n in $(seq 1 50); do echo "line $n"; sleep 0.1; done\n`,
  )
  // The kill must not hit what is left of the build before.
  await eventually('no pod of a build runs', async () =>
    ((await podOf('engine')) ?? (await podOf('dind'))) === undefined ? true : undefined,
  )
  const running = installation.windlass('run', '-f', file, '--output', 'json')
  await eventually('the engine runs', () => podOf('engine'))
  await VICTIMS[victim]?.(draw)

  const { stdout, stderr } = await running
  const final = Final.parse(JSON.parse(stdout))
  expect(final, `seed ${SEED}\n${stderr}`).toMatchObject({ status: 'success' })
  // A second attempt runs the step again from its start, so its lines are a complete log.
  const lines = [...stderr.matchAll(/^.*?line (\d+)$/gm)].map((match) => Number(match[1]))
  expect(lines.slice(lines.lastIndexOf(1)), stderr).toEqual(Array.from({ length: 50 }, (_, i) => i + 1))
})

/** Returns the numbers of the step's lines in the spool of the engine's pod. */
async function spooled(pod: string): Promise<number[]> {
  const command = 'cat /var/spool/windlass/attempt/journal/*/*.seg'
  const { cluster, namespace } = installation
  return linesIn(await cluster.exec({ namespace, name: pod, container: 'engine' }, 'sh', '-c', command))
}

function linesIn(text: string): number[] {
  return [...text.matchAll(/line (\d+)\n/g)].map((match) => Number(match[1]))
}

async function feed(id: string): Promise<FeedItem[]> {
  const items: FeedItem[] = []
  for (;;) {
    const query = { after: items.at(-1)?.position ?? 0 }
    const { items: more } = await installation.client.builds.feed(id, { query })
    if (more.length === 0) return items
    items.push(...more)
  }
}

/** Returns the log of a step in an attempt. */
function logOf(items: readonly FeedItem[], attempt: number): string {
  const parts = items.flatMap((item) =>
    item.kind === 'log' && item.attempt === attempt && item.stream === 'step/count' ? [Buffer.from(item.bytes, 'base64')] : [],
  )
  return Buffer.concat(parts).toString()
}

/** Kills the server while a step of a build counts. Resolves when the spool of its engine has lines that the server lacks. */
async function countWithoutServer(): Promise<{ id: string; pod: string }> {
  const steps = {
    count: {
      image: installation.images['TOOLS_IMAGE'],
      commands: ['for n in $(seq 1 200); do echo "line $n"; sleep 0.1; done'],
    },
  }
  const { id } = await installation.client.builds.create({ document: JSON.stringify({ version: '1.0', steps }) })
  await eventually('the step counts', async () => (linesIn(logOf(await feed(id), 1)).length > 5 ? true : undefined))
  const known = linesIn(logOf(await feed(id), 1)).length
  await installation.server.kill9()
  const pod = `engine-${id}`
  await eventually('the spool grows', async () => ((await spooled(pod)).length > known + 10 ? true : undefined))
  return { id, pod }
}

async function untilFinal(id: string): Promise<Build> {
  const look = async (): Promise<Build | undefined> => {
    const build = await installation.client.builds.get(id)
    return ['success', 'error', 'terminated'].includes(build.status) ? build : undefined
  }
  return eventually('the build ends', look, 180_000)
}

test('restarts an engine that is killed while the server is unreachable, and sends its whole spool', async () => {
  const { id, pod } = await countWithoutServer()
  const before = await spooled(pod)
  await killEngine()
  const isRestarted = async (): Promise<true | undefined> => {
    const { cluster, namespace } = installation
    const { status } = Restarts.parse(await cluster.kube.find({ kind: 'Pod', namespace, name: pod }))
    return status.containerStatuses.find(({ name }) => name === 'engine')?.restartCount === 1 ? true : undefined
  }
  await eventually('the kubelet starts the engine again', isRestarted)
  await installation.server.start()

  expect(await untilFinal(id)).toMatchObject({ status: 'success', attempt: 2 })
  const items = await feed(id)
  const first = linesIn(logOf(items, 1))
  expect(first).toEqual(first.map((_, index) => index + 1))
  expect(first.length).toBeGreaterThanOrEqual(before.length)
  expect(linesIn(logOf(items, 2))).toHaveLength(200)
  const types = items.map((item) => (item.kind === 'event' ? item.type : `log ${item.attempt}`))
  expect(types).not.toContain('log.incomplete')
  expect(types.lastIndexOf('log 1')).toBeLessThan(types.indexOf('attempt.lost'))
})

test("reports in the feed which part of the log is missing when an engine's pod is gone with its spool", async () => {
  const { id, pod } = await countWithoutServer()
  await installation.kubectl('delete', 'pod', pod, '--grace-period=0', '--force')
  await installation.server.start()
  expect(await untilFinal(id)).toMatchObject({ status: 'success', attempt: 2 })
  const items = await feed(id)
  const missing = items.flatMap((item) => (item.kind === 'event' && item.type === 'log.incomplete' ? [item.data] : []))
  const from = Buffer.byteLength(logOf(items, 1))
  expect(missing).toContainEqual(expect.objectContaining({ stream: 'step/count', from }))
})
