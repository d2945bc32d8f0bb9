/** Logs of the pods of a workflow: as their nodes have them, or from the archive if a pod is deleted. */
import { fault, isFault, type Clock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import type { ContainerLog, LogLine, WorkflowLog, WorkflowLogQuery } from '@windlass/protocol'
import { newestLines } from '../log/newest-lines.ts'
import type { LogArchive } from './archive.ts'
import { requireLogKey } from './archived-logs.ts'
import { inOrder, timedLines } from './log-lines.ts'

/** Pods whose logs one answer joins. */
const MAX_PODS = 50
/** Logs that are read at once. Each can be as large as the answer. */
const AT_ONCE = 4
const TIMEOUT_MS = 30_000
/** Seconds that the clocks of a node and of this process may differ, and that a line may take. */
const MARGIN_S = 10
/** What the archive answers whichever log is read. */
const OUTAGES = ['archive-unreachable', 'archive-refused'] as const
/** What Kubernetes says of a container that has no log yet. */
const NOT_STARTED = /waiting to start|PodInitializing|ContainerCreating/

export interface LogReader {
  readonly kube: Kube
  readonly namespace: string
  readonly clock: Clock
  readonly archive: LogArchive | undefined
}

/** Where the log of a pod is. */
export interface LogSource {
  readonly pod: string
  /** True if the pod exists. */
  readonly isLive: boolean
  /** Key in the archive, not checked; undefined if the log is not read there. */
  readonly key: string | undefined
  /** Start and end of the node: lines of the archive have no times. */
  readonly startedAt: number | undefined
  readonly finishedAt: number | undefined
}

interface PodLog extends ContainerLog {
  readonly isArchived: boolean
}

/**
 * Returns the last lines of some pods, by their times. Throws `request-invalid` for too many pods, `cluster-refused` if one has no such container, and if no log can be read
 * `archive-unreachable`, `archive-refused`, `not-found` or `conflict`.
 */
export async function readLogs(reader: LogReader, sources: readonly LogSource[], query: WorkflowLogQuery): Promise<WorkflowLog> {
  if (sources.length > MAX_PODS)
    throw fault('request-invalid', {
      message: `The workflow has ${sources.length} pods; one answer has the logs of ${MAX_PODS} at most.`,
      hint: 'Name a pod.',
    })
  const { tail } = query
  const archive = reader.archive && untilOutage(reader.archive)
  const archived: string[] = []
  const missing = new Map<string, Error>()
  const startOf = new Map(sources.map(({ pod, startedAt = 0 }) => [pod, startedAt]))
  const read = async (source: LogSource): Promise<ContainerLog> => {
    try {
      const { isArchived, ...log } = await readLog({ ...reader, archive }, source, query)
      if (isArchived) archived.push(source.pod)
      return log
    } catch (error) {
      if (!isFault(error, 'not-found', 'conflict', ...OUTAGES)) throw error
      missing.set(source.pod, error)
      return { items: [] }
    }
  }
  let joined: ContainerLog = { items: [] }
  for (let first = 0; first < sources.length; first += AT_ONCE) {
    const logs = await Promise.all(sources.slice(first, first + AT_ONCE).map(read))
    joined = first === 0 && logs.length === 1 ? (logs[0] ?? joined) : await join([joined, ...logs], { tail, startOf })
  }
  const errors = [...missing.values()]
  const error = errors.find((one) => isFault(one, ...OUTAGES)) ?? errors[0]
  if (error !== undefined && missing.size === sources.length) throw error
  return {
    ...joined,
    ...(archived.length > 0 && { archived: archived.toSorted() }),
    ...(missing.size > 0 && { missing: [...missing.keys()].toSorted() }),
  }
}

/** Returns an archive that is asked nothing more once it has failed: each call could take as long. */
function untilOutage({ prefix, read }: LogArchive): LogArchive {
  let outage: Error | undefined
  return {
    prefix,
    async read(key, options) {
      if (outage !== undefined) throw outage
      try {
        return await read(key, options)
      } catch (error) {
        if (isFault(error, ...OUTAGES)) outage = error
        throw error
      }
    },
  }
}

async function readLog(reader: LogReader, source: LogSource, query: WorkflowLogQuery): Promise<PodLog> {
  if (source.isLive) {
    try {
      return { ...(await readLiveLog(reader, source.pod, query)), isArchived: false }
    } catch (error) {
      // Deleted since it was listed.
      if (!isFault(error, 'not-found') || source.key === undefined) throw error
    }
  }
  return { ...(await readArchivedLog(reader, source, query)), isArchived: true }
}

async function readLiveLog({ kube, namespace, clock }: LogReader, pod: string, query: WorkflowLogQuery): Promise<ContainerLog> {
  const { container, tail, since, after } = query
  const sinceSeconds = after === undefined ? since : secondsSince(after, clock.now())
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const options = { container, follow: false, tailLines: tail, sinceSeconds, signal } as const
    return await newestLines(timedLines(await kube.followLogs({ kind: 'Pod', namespace, name: pod }, options), pod), tail)
  } catch (error) {
    if (signal.aborted)
      throw fault('cluster-unreachable', { message: `The cluster takes too long to send the log of the pod "${pod}".` }, error)
    if (isFault(error, 'cluster-refused') && NOT_STARTED.test(error.message)) return { items: [] }
    throw error
  }
}

/** Reads nothing of a log whose node has ended before the wanted time. */
async function readArchivedLog(
  { archive, clock }: LogReader,
  { pod, key, finishedAt = Infinity }: LogSource,
  { container, tail, since = Infinity }: WorkflowLogQuery,
): Promise<ContainerLog> {
  if (finishedAt < clock.now() - since * 1_000) return { items: [] }
  const log =
    archive === undefined || key === undefined
      ? undefined
      : await archive.read(requireLogKey(key, archive.prefix, { pod, container }), { pod, tail })
  if (log !== undefined) return log
  throw fault('not-found', {
    message: `The log of the container "${container}" of the pod "${pod}" is neither in the cluster nor in the archive.`,
    hint: 'The pod is deleted. Its log was not archived, or its time in the bucket is over: see archiveLogs of the artifact repository, and the life cycle of the bucket.',
  })
}

interface Joining {
  readonly tail: number
  /** When a pod started, epoch milliseconds: the place of its lines that have no times. */
  readonly startOf: ReadonlyMap<string, number>
}

/** Joins logs by the times of their lines, as far as one answer has room for them. */
async function join(logs: readonly ContainerLog[], { tail, startOf }: Joining): Promise<ContainerLog> {
  const timeOf = ({ pod, at }: LogLine): number => (at === undefined ? (startOf.get(pod) ?? 0) : Date.parse(at))
  // Nodes may write times in several zones, and with nanoseconds.
  const order = (one: LogLine, other: LogLine): number =>
    timeOf(one) - timeOf(other) || compareTexts(one.at ?? '', other.at ?? '')
  const lines = logs.flatMap(({ items }) => items).toSorted(order)
  const { items, isCut } = await newestLines(inOrder(lines.slice(-tail)), lines.length + 1)
  const isAnyCut = isCut === true || lines.length > tail || logs.some((log) => log.isCut === true)
  return { items, ...(isAnyCut && { isCut: true }) }
}

function compareTexts(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1
}

function secondsSince(time: string, now: number): number {
  return Math.max(0, Math.ceil((now - Date.parse(time)) / 1000)) + MARGIN_S
}
