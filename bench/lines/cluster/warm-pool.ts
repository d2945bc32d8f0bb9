/** Builds on Kubernetes that use a warm pair, compared with the same builds without a pool, and with a process in an existing pod. */
import { mergeLayers } from '@windlass/protocol'
import { spread, type Line, type Row } from '../../row.ts'
import { type ClusterStack } from '../../stack/cluster.ts'
import { follow, isStepOutput } from '../../stack/follow.ts'
import { toDocument } from '../../stack/local.ts'
import { openRunnerStack } from '../../stack/runner.ts'
import { eventually } from '../../../e2e/support/installation.ts'

const RUNS = 8
const WARM_UP = 1
const BURST = 20
/** All pairs of a burst are ready within this time on two cores. */
const READY_MS = 300_000

/** Small, so that all pods of a burst fit on two cores. */
const RESOURCES = { requests: { cpu: '10m', memory: '32Mi' } }
const SMALL = { runtimeScheduler: { resources: RESOURCES }, dockerDaemonScheduler: { defaultDindResources: RESOURCES } }

export const warmPool: Line = { name: 'warm-pool', measure }

async function measure(): Promise<Row[]> {
  await using stack = await openRunnerStack()
  const document = toDocument({ hello: { image: stack.images['TOOLS_IMAGE'] ?? '', command: 'echo hello' } })
  await keep(stack, 1)
  await timeBuild(stack, document)
  const firsts: number[] = []
  for (let n = -WARM_UP; n < RUNS; n += 1) {
    await ready(stack, 1)
    const first = await timeBuild(stack, document)
    if (n >= 0) firsts.push(first)
  }
  await keep(stack, BURST)
  await Promise.all(Array.from({ length: BURST }, async () => timeBuild(stack, document)))
  await ready(stack, BURST)
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: BURST }, async () => timeBuild(stack, document)))
  const burst = (performance.now() - startedAt) / 1_000
  await keep(stack, 0)
  await stack.empty()
  const figure = 'build submitted -> a follower has the first output of its step, with a warm engine and daemon'
  return [
    { name: 'cluster-warm', figure, unit: 'ms', value: spread(firsts), warmUp: WARM_UP, goal: 450 },
    {
      name: 'cluster-warm-20',
      figure: `${BURST} builds at once, each with a warm pair: first submit -> last success recorded`,
      unit: 's',
      value: spread([burst]),
      warmUp: 1,
      goal: 5,
    },
  ]
}

/** Sets the size of the pool. */
async function keep({ client, runtime }: ClusterStack, count: number): Promise<void> {
  const { name, type, agent, isDefault, spec } = await client.runtimes.get(runtime)
  const warm = count === 0 ? {} : { warmPool: { min: count, max: count, maxAgeSeconds: 3_600 } }
  const { warmPool: _before, ...rest } = spec
  const layer = mergeLayers(rest, SMALL)
  await client.runtimes.put(name, { name, type, agent, isDefault, spec: { ...layer, ...warm } })
}

async function ready({ client, runtime }: ClusterStack, count: number): Promise<void> {
  const ask = async (): Promise<true | undefined> => {
    const { items } = await client.runtimes.list()
    return (items.find(({ name }) => name === runtime)?.warm?.ready ?? 0) >= count ? true : undefined
  }
  await eventually(`${count} pairs are ready`, ask, READY_MS)
}

async function timeBuild({ client }: ClusterStack, document: string): Promise<number> {
  const startedAt = performance.now()
  const { id } = await client.builds.create({ document }, { idempotencyKey: false })
  let first = Number.NaN
  for await (const seen of follow(client, id)) {
    if (isStepOutput(seen) && Number.isNaN(first)) first = seen.at - startedAt
    const { item } = seen
    if (item.kind === 'event' && item.type === 'build.finished' && item.data['status'] !== 'success')
      throw new Error(`the build ended as ${JSON.stringify(item.data)}`)
  }
  return first
}
