/** Counts the cores of the nodes that may run a pod. */
import { isFault, type Clock, type Logger } from '@windlass/kit'
import type { Kube, KubeObject } from '@windlass/kube'
import { acceptsPod, type Placement } from '@windlass/volumes'
import { z } from 'zod'

export interface NodeCores {
  /** Returns the allocatable cores of all nodes that accept a pod, or undefined if the agent cannot read nodes. Never throws. */
  of(placement: Placement): Promise<number | undefined>
}

/** How long a list of nodes is used. Milliseconds. */
const NODES_MS = 60_000
/** Time after which a list that failed is tried again. Milliseconds. */
const RETRY_MS = 5_000

export function openNodeCores({
  kube,
  clock,
  log,
}: {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
}): NodeCores {
  let nodes: Promise<readonly KubeObject[] | undefined> | undefined
  let readAt = -Infinity

  async function list(before: typeof nodes): Promise<readonly KubeObject[] | undefined> {
    try {
      return await kube.list({ kind: 'Node' })
    } catch (error) {
      log.info({ err: error }, 'cannot read the nodes of the cluster')
      if (!isFault(error, 'cluster-refused')) readAt = clock.monotonic() - NODES_MS + RETRY_MS
      return isFault(error, 'cluster-refused') ? undefined : before
    }
  }

  return {
    async of(placement) {
      if (clock.monotonic() - readAt >= NODES_MS) {
        readAt = clock.monotonic()
        nodes = list(nodes)
      }
      const found = await nodes
      return found?.filter((node) => acceptsPod(node, placement)).reduce((sum, node) => sum + coresOf(node), 0)
    },
  }
}

const Node = z.looseObject({
  status: z.looseObject({ allocatable: z.looseObject({ cpu: z.string().default('0') }).prefault({}) }).prefault({}),
})

/** Returns the allocatable cores of a node, such as 3.92 for `3920m`. */
function coresOf(node: KubeObject): number {
  const { cpu } = Node.parse(node).status.allocatable
  const cores = cpu.endsWith('m') ? Number(cpu.slice(0, -1)) / 1000 : Number(cpu)
  return Number.isFinite(cores) ? cores : 0
}
