/** Twenty builds on Kubernetes, one after the other and at once, with different limits of the starts in progress (docs/development/adr/0077). */
import { loadavg } from 'node:os'
import { mergeLayers } from '@windlass/protocol'
import { spread, type Line, type Row } from '../../row.ts'
import { openProcessStack, type ClusterStack } from '../../stack/cluster.ts'
import { toDocument } from '../../stack/local.ts'
import { BURST, measureBurst, timeBuild } from './cluster.ts'

const RUNS = 3
const UNLIMITED = 1_000
/** Starts per core. */
const LIMITS = [1, 2, 4, UNLIMITED]

export const starts: Line = { name: 'starts', measure }

/** The limits alternate, so that a slow phase of the machine does not concern one of them alone. */
async function measure(): Promise<Row[]> {
  await using stack = await openProcessStack()
  const document = toDocument({ hello: { image: stack.images['TOOLS_IMAGE'] ?? '', command: 'echo hello' } })
  // The first burst creates the disks that the others use.
  await measureBurst(stack, document)
  const row: number[] = []
  const bursts = LIMITS.map((): number[] => [])
  const loads = LIMITS.map(() => 0)
  for (let n = 0; n < RUNS; n += 1) {
    row.push(await measureInARow(stack, document))
    for (const [index, perCore] of LIMITS.entries()) {
      await limit(stack, perCore)
      bursts[index]?.push(await measureBurst(stack, document))
      loads[index] = Math.max(loads[index] ?? 0, loadavg()[0] ?? 0)
    }
  }
  const inARow = { what: `${BURST} builds one after the other`, value: spread(row) }
  return LIMITS.map((perCore, index) => ({
    name: `starts-${perCore === UNLIMITED ? 'unlimited' : perCore}`,
    figure: `${BURST} builds at once, ${perCore === UNLIMITED ? 'no limit of starts' : `${perCore} starts per core`}: first submit -> last success recorded`,
    unit: 's' as const,
    value: spread(bursts[index] ?? []),
    warmUp: 1,
    floor: inARow,
    note: `load ${loads[index]?.toFixed(1)}`,
  }))
}

async function measureInARow(stack: ClusterStack, document: string): Promise<number> {
  await stack.empty()
  const startedAt = performance.now()
  for (let n = 0; n < BURST; n += 1) await timeBuild(stack, { document, resetVolume: false })
  return (performance.now() - startedAt) / 1_000
}

async function limit({ client, runtime }: ClusterStack, perCore: number): Promise<void> {
  const { name, type, agent, isDefault, spec } = await client.runtimes.get(runtime)
  await client.runtimes.put(name, { name, type, agent, isDefault, spec: mergeLayers(spec, { starts: { perCore } }) })
}
