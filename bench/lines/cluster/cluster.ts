/** Complete builds on Kubernetes, each with its own daemon pod and engine pod. */
import { isFault, retry, systemClock } from '@windlass/kit'
import { podCallsHome } from '../../floors/pod.ts'
import { machineCpuSeconds } from '../../floors/processes.ts'
import { spread, type Line, type Row, type Spread } from '../../row.ts'
import { openProcessStack, type ClusterStack } from '../../stack/cluster.ts'
import { follow, isStepOutput } from '../../stack/follow.ts'
import { toDocument } from '../../stack/local.ts'
import { openRunnerStack } from '../../stack/runner.ts'

/** Consecutive builds through the Runner of the wizard, enough for a meaningful 99th percentile. */
const ROW_RUNS = 200
const COLD_RUNS = 8
const EMPTY_RUNS = 3
export const BURST = 20
const BURST_RUNS = 2
const FLOOR_RUNS = 8

export const cluster: Line = { name: 'cluster', measure }
export const clusterRow: Line = { name: 'cluster-row', measure: measureRow }

async function measure(): Promise<Row[]> {
  return [...(await measureBeside()), ...(await measureInstalled())]
}

const COLD = 'build submitted -> a follower has the first output of its step, dind and engine pods made for it'

/** The agent as a process outside the cluster that binds disks itself. The wizard does not install this form. */
async function measureBeside(): Promise<Row[]> {
  await using stack = await openProcessStack()
  const document = toDocument({ hello: { image: stack.images['TOOLS_IMAGE'] ?? '', command: 'echo hello' } })
  const { first, note } = await measureBuilds(stack, { document, runs: COLD_RUNS, warmUp: 1, resetVolume: false })
  const figure = `${COLD}, disk with images; the agent is a process that binds disks itself`
  return [{ name: 'cluster-cold-process', figure, unit: 'ms', value: first, warmUp: 1, note }]
}

/** Runs one build after the other without a pause. */
async function measureRow(): Promise<Row[]> {
  await using stack = await openRunnerStack()
  const document = toDocument({ hello: { image: stack.images['TOOLS_IMAGE'] ?? '', command: 'echo hello' } })
  const ends: number[] = []
  await timeBuild(stack, { document, resetVolume: false })
  const cpu = await countCpu()
  for (let n = 0; n < ROW_RUNS; n += 1) ends.push((await timeBuild(stack, { document, resetVolume: false })).end)
  const value = spread(ends)
  const note = `${await cpu.perBuild(ROW_RUNS)}; the longest may take 10 s`
  const figure = `${ROW_RUNS} builds in a row through the Runner of the wizard: submitted -> success recorded`
  return [{ name: 'cluster-row', figure, unit: 'ms', value, warmUp: 1, goalP99: Math.min(3 * value.median, 10_000), note }]
}

async function measureInstalled(): Promise<Row[]> {
  await using stack = await openRunnerStack()
  const image = stack.images['TOOLS_IMAGE'] ?? ''
  const document = toDocument({ hello: { image, command: 'echo hello' } })
  const emptyDisk = await measureBuilds(stack, { document, runs: EMPTY_RUNS, warmUp: 0, resetVolume: true })
  const cold = await measureBuilds(stack, { document, runs: COLD_RUNS, warmUp: 1, resetVolume: false })
  const bursts: number[] = []
  // The first builds create the disks that the others use.
  await measureBurst(stack, document)
  const cpu = await countCpu()
  for (let n = 0; n < BURST_RUNS; n += 1) bursts.push(await measureBurst(stack, document))
  const burstNote = await cpu.perBuild(BURST * BURST_RUNS)
  const home = await podCallsHome(
    {
      kubeconfig: stack.kubeconfig,
      namespace: stack.namespace,
      image: stack.images['DIND_IMAGE'] ?? '',
    },
    FLOOR_RUNS,
  )
  const floor = { what: 'one pod: create -> its process has connected', value: home }
  return [
    {
      name: 'cluster-cold',
      figure: `${COLD}, disk with images`,
      unit: 'ms',
      value: cold.first,
      warmUp: 1,
      floor,
      goal: 1_500,
      goalRatio: 5,
      note: cold.note,
    },
    { name: 'cluster-cold-success', figure: 'the same -> success recorded', unit: 'ms', value: cold.end, warmUp: 1, floor },
    {
      name: 'cluster-empty-disk',
      figure: `${COLD}, empty disk: the tools image is unpacked first`,
      unit: 'ms',
      value: emptyDisk.first,
      warmUp: 0,
      floor,
      note: emptyDisk.note,
    },
    {
      name: 'cluster-20',
      figure: `${BURST} builds at once, each with its own dind: first submit -> last success recorded`,
      unit: 's',
      value: spread(bursts),
      warmUp: 1,
      goal: 14,
      note: burstNote,
    },
  ]
}

interface Builds {
  readonly document: string
  readonly runs: number
  readonly warmUp: number
  readonly resetVolume: boolean
}

async function measureBuilds(
  stack: ClusterStack,
  { document, runs, warmUp, resetVolume }: Builds,
): Promise<{ first: Spread; end: Spread; note: string }> {
  const firsts: number[] = []
  const ends: number[] = []
  for (let n = 0; n < warmUp; n += 1) await timeBuild(stack, { document, resetVolume })
  const cpu = await countCpu()
  for (let n = 0; n < runs; n += 1) {
    await stack.empty()
    const { first, end } = await timeBuild(stack, { document, resetVolume })
    firsts.push(first)
    ends.push(end)
  }
  return { first: spread(firsts), end: spread(ends), note: await cpu.perBuild(runs) }
}

/** Counts the processor time of this machine from now on, which is that of the builds if nothing else runs. */
async function countCpu(): Promise<{ perBuild(builds: number): Promise<string> }> {
  const before = await machineCpuSeconds()
  return {
    perBuild: async (builds) =>
      `${(((await machineCpuSeconds()) - before) / builds).toFixed(2)} s of processor time of the whole machine per build, with the API server and the removal of pods`,
  }
}

/** Runs one build. Returns the milliseconds until its first output and its end. */
export async function timeBuild(
  { client }: ClusterStack,
  body: { document: string; resetVolume: boolean },
): Promise<{ first: number; end: number }> {
  const startedAt = performance.now()
  // A key may have ten concurrent calls with documents.
  const waiting = {
    clock: systemClock,
    tries: 20,
    baseMs: 50,
    maxMs: 500,
    retryIf: (error: unknown) => isFault(error, 'rate-limited'),
  }
  const { id } = await retry(waiting, () => client.builds.create(body, { idempotencyKey: false }))
  let first = Number.NaN
  let end = Number.NaN
  for await (const seen of follow(client, id)) {
    if (isStepOutput(seen) && Number.isNaN(first)) first = seen.at - startedAt
    const { item } = seen
    if (item.kind !== 'event' || item.type !== 'build.finished') continue
    if (item.data['status'] !== 'success') throw new Error(`the build ended as ${JSON.stringify(item.data)}`)
    end = seen.at - startedAt
  }
  return { first, end }
}

/** Runs BURST builds at once. Returns the seconds until the last one ended. */
export async function measureBurst(stack: ClusterStack, document: string): Promise<number> {
  await stack.empty()
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: BURST }, () => timeBuild(stack, { document, resetVolume: false })))
  return (performance.now() - startedAt) / 1_000
}
