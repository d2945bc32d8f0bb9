import { z } from 'zod'
import type { Finding, Subject } from './finding.ts'

/** Minimum node size for one build. */
const MIN_CPU_MILLIS = 500
const MIN_MEMORY_BYTES = 1024 ** 3
/** Recommended disk space for images and layers of builds. */
const RECOMMENDED_DISK_BYTES = 50 * 10 ** 9

const NodeShape = z.object({
  metadata: z.object({ name: z.string() }),
  status: z.object({
    capacity: z.record(z.string(), z.string()).default({}),
    allocatable: z.record(z.string(), z.string()).default({}),
  }),
})

/** Checks the node sizes. At least one node must be large enough; smaller ones are warnings. */
export async function testNodes({ kube, localDisks }: Subject): Promise<readonly Finding[]> {
  const nodes = await kube.list({ kind: 'Node' })
  return evaluateNodes(nodes, { localDisks })
}

/** Evaluates the nodes. Pure. */
export function evaluateNodes(nodes: readonly unknown[], { localDisks }: { localDisks: boolean }): Finding[] {
  const sizes = nodes.map((node) => sizeOf(NodeShape.parse(node)))
  if (sizes.length === 0) return [{ check: 'nodes', status: 'fail', message: 'The cluster has no nodes.', hint: 'Add a node.' }]
  const short = sizes.filter(({ cpuMillis, memoryBytes }) => cpuMillis < MIN_CPU_MILLIS || memoryBytes < MIN_MEMORY_BYTES)
  const needs = `a build needs ${MIN_CPU_MILLIS}m CPU and 1Gi memory`
  const findings: Finding[] = short.map(({ name, cpuMillis, memoryBytes }) => ({
    check: 'nodes',
    status: short.length === sizes.length ? 'fail' : 'warn',
    message: `Node ${name} has ${cpuMillis}m CPU and ${Math.floor(memoryBytes / 1024 ** 2)}Mi memory; ${needs}.`,
    hint:
      short.length === sizes.length
        ? 'Add a larger node.'
        : 'Builds run on the other nodes; select them with --build-node-selector.',
  }))
  const disks = localDisks ? sizes.filter(({ diskBytes }) => diskBytes !== undefined && diskBytes < RECOMMENDED_DISK_BYTES) : []
  for (const { name, diskBytes } of disks)
    findings.push({
      check: 'node-disk',
      status: 'warn',
      message: `Node ${name} has ${Math.floor((diskBytes ?? 0) / 10 ** 9)} GB of disk; 50 GB are recommended if build disks are folders on the node.`,
      hint: 'Use larger nodes for builds, or another Storage.Backend.',
    })
  if (short.length < sizes.length)
    findings.push({
      check: 'nodes',
      status: 'pass',
      message: `${sizes.length - short.length} of ${sizes.length} nodes are large enough`,
    })
  return findings
}

interface Size {
  readonly name: string
  readonly cpuMillis: number
  readonly memoryBytes: number
  /** Undefined if the node does not report it. */
  readonly diskBytes: number | undefined
}

function sizeOf({ metadata, status }: z.infer<typeof NodeShape>): Size {
  const disk = status.allocatable['ephemeral-storage'] ?? status.capacity['ephemeral-storage']
  return {
    name: metadata.name,
    cpuMillis: toNumber(status.capacity['cpu'] ?? '0') * 1000,
    memoryBytes: toNumber(status.capacity['memory'] ?? '0'),
    diskBytes: disk === undefined ? undefined : toNumber(disk),
  }
}

const UNITS: Readonly<Record<string, number>> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
}

/** Parses a Kubernetes quantity; 0 if invalid. */
function toNumber(quantity: string): number {
  const found = /^([0-9.]+)([A-Za-z]*)$/.exec(quantity)
  return found === null ? 0 : Number(found[1]) * (found[2] === '' ? 1 : (UNITS[found[2] ?? ''] ?? 0))
}
