/** Limits how many workflows start at once in a cluster. Their pods are known by name, because their labels are those of the platform. */
import type { Clock, Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { KubeObject } from '@windlass/protocol'
import { stateOf } from '../kubernetes/read-pod.ts'
import { startLimitOf, type StartRate } from '../starts/choose-starts.ts'
import { openNodeCores } from '../starts/node-cores.ts'
import { nodeGroupOf, placementOf } from '../starts/pod-nodes.ts'
import { openStartLimit, type PendingStart, type StartLimit } from '../starts/start-limit.ts'
import type { WorkflowBatch } from './split.ts'

export interface WorkflowStarts extends Pick<StartLimit, 'begin' | 'beginNow' | 'end'> {
  /** Describes the start of a batch; undefined if it creates no pods. */
  describe(batch: WorkflowBatch): Promise<PendingStart | undefined>
  /** Stops watching pods. */
  close(): void
}

export interface WorkflowStartsOptions {
  readonly kube: Kube
  readonly namespaces: readonly string[]
  readonly rate: StartRate
  readonly clock: Clock
  readonly log: Logger
}

const PODS_OF_BUILDS = 'app in (dind,runtime)'

/** Opens the limit and watches the pods of builds in the namespaces. */
export function openWorkflowStarts({ kube, namespaces, rate, clock, log }: WorkflowStartsOptions): WorkflowStarts {
  const starts = openStartLimit({ clock, log })
  const cores = openNodeCores({ kube, clock, log })
  const stop = new AbortController()
  const unread = new Set(namespaces)
  for (const namespace of namespaces) void follow(namespace)
  noteRead()

  function noteRead(): void {
    if (unread.size === 0) starts.synced()
  }

  async function follow(namespace: string): Promise<void> {
    const selection = { kind: 'Pod', namespace, labels: PODS_OF_BUILDS } as const
    for await (const change of kube.watch(selection, { signal: stop.signal })) {
      if (change.type === 'synced') {
        unread.delete(namespace)
        noteRead()
        continue
      }
      const { object } = change
      const { name } = object.metadata
      starts.see(keyOf(name), {
        uid: object.metadata.uid ?? name,
        nodeGroup: nodeGroupOf(object),
        state: change.type === 'gone' ? undefined : stateOf(object),
      })
    }
  }

  return {
    begin: (start, signal) => starts.begin(start, signal),
    beginNow: (start) => starts.beginNow(start),
    end: (key, outcome) => starts.end(key, outcome),
    async describe({ tasks }) {
      const created = tasks.filter(({ type }) => type === 'CreatePod')
      const pods = created.flatMap(({ spec }) => KubeObject.safeParse(spec).data ?? [])
      const [task] = created
      const [pod] = pods
      if (task === undefined || pod === undefined) return undefined
      const readLimit = async (): Promise<number> => startLimitOf(rate, await cores.of(placementOf(pod)))
      const limit = await readLimit()
      const { createdAt } = task.metadata
      const order = `${createdAt} ${task._id}`
      const start = { key: keyOf(pod.metadata.name), taskId: order, isWarm: false, limit, readLimit }
      return { ...start, nodeGroup: nodeGroupOf(pod), pods: pods.length }
    },
    close: () => stop.abort(),
  }
}

/** Returns the part of a pod name that the pods of one attempt share, such as `65a1…` of `dind-65a1…` and `engine-65a1…`. */
function keyOf(name: string): string {
  return name.replace(/^(dind|engine)-/, '')
}
