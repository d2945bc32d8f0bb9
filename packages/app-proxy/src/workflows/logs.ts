/** Logs of the pods of a workflow, as their nodes have them. */
import { fault, isFault, type Clock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { MAX_LOG_LINE, type ContainerLog, type LogLine, type WorkflowLogQuery } from '@windlass/protocol'
import { linesOf, newestLines } from '../log/newest-lines.ts'

/** Pods whose logs one answer joins. */
const MAX_PODS = 50
/** Logs that are read at once. Each can be as large as the answer. */
const AT_ONCE = 4
const TIMEOUT_MS = 30_000
/** Seconds that the clocks of a node and of this process may differ, and that a line may take. */
const MARGIN_S = 10
const TOO_LONG = '(a line of more than 2 MiB)'
/** What Kubernetes says of a container that has no log yet. */
const NOT_STARTED = /waiting to start|PodInitializing|ContainerCreating/

export interface LogReader {
  readonly kube: Kube
  readonly namespace: string
  readonly clock: Clock
}

/** Returns the last lines of some pods, by their times. Throws `request-invalid` for too many pods, and `not-found` or `cluster-refused` if one has no such container. */
export async function readPodLogs(
  { kube, namespace, clock }: LogReader,
  pods: readonly string[],
  query: WorkflowLogQuery,
): Promise<ContainerLog> {
  if (pods.length > MAX_PODS)
    throw fault('request-invalid', {
      message: `The workflow has ${pods.length} pods; one answer has the logs of ${MAX_PODS} at most.`,
      hint: 'Name a pod.',
    })
  const { container, tail, since, after } = query
  const sinceSeconds = after === undefined ? since : secondsSince(after, clock.now())
  const read = async (pod: string): Promise<ContainerLog> => {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    try {
      const options = { container, follow: false, tailLines: tail, sinceSeconds, signal } as const
      return await newestLines(toLines(await kube.followLogs({ kind: 'Pod', namespace, name: pod }, options), pod), tail)
    } catch (error) {
      if (signal.aborted)
        throw fault('cluster-unreachable', { message: `The cluster takes too long to send the log of the pod "${pod}".` }, error)
      if (isFault(error, 'cluster-refused') && NOT_STARTED.test(error.message)) return { items: [] }
      throw error
    }
  }
  let joined: ContainerLog = { items: [] }
  for (let first = 0; first < pods.length; first += AT_ONCE) {
    const logs = await Promise.all(pods.slice(first, first + AT_ONCE).map(read))
    joined = first === 0 && logs.length === 1 ? (logs[0] ?? joined) : await join([joined, ...logs], tail)
  }
  return joined
}

/** Joins logs by the times of their lines, as far as one answer has room for them. */
async function join(logs: readonly ContainerLog[], tail: number): Promise<ContainerLog> {
  const lines = logs.flatMap(({ items }) => items).toSorted((a, b) => compareTimes(a.at ?? '', b.at ?? ''))
  const { items, isCut } = await newestLines(inOrder(lines.slice(-tail)), lines.length + 1)
  const isAnyCut = isCut === true || lines.length > tail || logs.some((log) => log.isCut === true)
  return { items, ...(isAnyCut && { isCut: true }) }
}

/** Compares times with nanoseconds. Nodes may write them in several zones. */
function compareTimes(one: string, other: string): number {
  return Date.parse(one) - Date.parse(other) || (one < other ? -1 : 1)
}

async function* inOrder(lines: readonly LogLine[]): AsyncGenerator<LogLine> {
  yield* lines
}

function secondsSince(time: string, now: number): number {
  return Math.max(0, Math.ceil((now - Date.parse(time)) / 1000)) + MARGIN_S
}

async function* toLines(body: AsyncIterable<Uint8Array>, pod: string): AsyncGenerator<LogLine> {
  for await (const line of linesOf(body, TOO_LONG)) {
    if (line === '') continue
    const [, at, text = line] = /^(\d{4}-\d\d-\d\dT\S+(?:Z|[+-]\d\d:\d\d)) (.*)$/s.exec(line) ?? []
    const isCut = text.length > MAX_LOG_LINE
    yield {
      pod,
      text: isCut ? text.slice(0, MAX_LOG_LINE) : text,
      ...(at !== undefined && { at }),
      ...(isCut && { isCut }),
    }
  }
}
