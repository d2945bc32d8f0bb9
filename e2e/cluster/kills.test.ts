/** Kills on a real Kubernetes: whatever dies in the middle of a build, the build ends well and its log is whole. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { eventually, type Installation, startInstallation } from '../support/installation.ts'

const NAMESPACE = `kills-${process.pid}`
const isLong = process.env['WINDLASS_TEST_LONG'] === '1'
const ROUNDS = isLong ? 10 : 1
const SEED = Number(process.env['WINDLASS_SEED'] ?? Math.trunc(Math.random() * 1e9))

const Final = z.object({ status: z.string(), reason: z.string().nullish() })

let installation: Installation
beforeAll(async () => {
  installation = await startInstallation(NAMESPACE)
  console.log(`WINDLASS_SEED=${SEED}`)
})
afterAll(() => installation?.close())

/** mulberry32: the moments of a run are the seed's, so that a run can be had again. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const podOf = (kind: 'engine' | 'dind'): Promise<string | undefined> =>
  installation
    .kubectl('get', 'pods', '--field-selector', 'status.phase=Running', '--output', 'name')
    .then((text) => text.split('\n').find((name) => name.startsWith(`pod/${kind}-`)))

/** What is killed. A pod that is gone already is a kill that hit nothing. */
const VICTIMS: Readonly<Record<string, () => Promise<void>>> = {
  server: async () => {
    await installation.server.kill9()
    await installation.server.start()
  },
  agent: async () => {
    await installation.agent.kill9()
    await installation.agent.start()
  },
  engine: () => killPod('engine'),
  dind: () => killPod('dind'),
}

async function killPod(kind: 'engine' | 'dind'): Promise<void> {
  const pod = await podOf(kind)
  if (pod !== undefined) await installation.kubectl('delete', pod, '--grace-period=0', '--force', '--ignore-not-found')
}

const cases = Array.from({ length: ROUNDS }, (_, round) => Object.keys(VICTIMS).map((victim) => ({ victim, round }))).flat()

test.each(cases)('a build survives a kill of its $victim (round $round)', async ({ victim, round }) => {
  const draw = random(SEED + round * 4 + Object.keys(VICTIMS).indexOf(victim))
  const image = installation.images['TOOLS_IMAGE'] ?? ''
  const file = await installation.file(
    'count.yml',
    `version: '1.0'\nsteps:\n  first:\n    image: ${image}\n    commands: [echo first]\n` +
      `  count:\n    image: ${image}\n    commands:\n      - for n in $(seq 1 50); do echo "line $n"; sleep 0.1; done\n`,
  )
  const running = installation.windlass('run', '-f', file, '--output', 'json')
  await eventually('the engine runs', () => podOf('engine'))
  await sleep(draw() * 6_000)
  await VICTIMS[victim]?.()

  const { stdout, stderr } = await running
  const final = Final.parse(JSON.parse(stdout))
  expect(final, `seed ${SEED}\n${stderr}`).toMatchObject({ status: 'success' })
  // A second attempt runs the step again from its start: its lines are a whole log by themselves.
  const lines = [...stderr.matchAll(/^.*?line (\d+)$/gm)].map((match) => Number(match[1]))
  expect(lines.slice(lines.lastIndexOf(1)), stderr).toEqual(Array.from({ length: 50 }, (_, i) => i + 1))
})
