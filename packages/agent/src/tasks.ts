/** The tasks that an agent is carrying out. Tasks of one attempt run one after the other; a stop aborts a start in progress. */
import { endsWork, Fault, isAbort, isRefusal, openSerial, retry, type Clock, type Logger } from '@windlass/kit'
import { agentCalls } from '@windlass/client/agent'
import { isBeingDeleted } from '@windlass/kube'
import { ReasonName, type Client, type Task, type TaskReport } from '@windlass/protocol'
import { attemptKey, type AttemptRef, type Executor } from './executor.ts'
import { failureMessage } from './failure-message.ts'

export interface TaskTable {
  /** Starts a task, or notes the newer revision of a task in progress. */
  accept(task: Task): void
  /** Ids of the tasks in progress. */
  ids(): string[]
  /** Whether a task of this attempt is in progress. */
  has(ref: AttemptRef): boolean
  /** Abandons tasks whose lease was lost: they are aborted and not reported. */
  drop(ids: readonly string[]): void
  /** Resolves when no task is in progress. */
  idle(): Promise<void>
}

export interface TaskTableOptions {
  readonly executor: Executor
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly epoch: () => number
  /** Aborts waiting for the server; the tasks themselves are aborted by `drop`. */
  readonly signal: AbortSignal
  /** Called when no object of an attempt is left. */
  readonly onGone: (ref: AttemptRef) => void
  /** Called when the answer to a report is fatal for this agent, for example because another process took over. */
  readonly onFenced: (error: Fault) => void
}

interface Entry {
  task: Task
  readonly controller: AbortController
  dropped: boolean
}

/** Number of attempts to start before a transient failure is reported to the server. */
const START_ATTEMPTS = 4

export function openTasks(options: TaskTableOptions): TaskTable {
  const { executor, clock, log } = options
  const server = agentCalls(options.client)
  const entries = new Map<string, Entry>()
  /** By attempt. */
  const serial = openSerial()

  async function carryOut(entry: Entry): Promise<void> {
    const { task } = entry
    const signal = entry.controller.signal
    const fields = { taskId: task.id, kind: task.kind, buildId: task.buildId, attempt: task.attempt }
    const startedAt = clock.monotonic()
    let outcome: Outcome = { status: 'done' }
    try {
      signal.throwIfAborted()
      if (task.kind === 'start-attempt') await retryStart(() => executor.start(task, signal), signal)
      else await executor.stop(task, signal)
    } catch (error) {
      outcome = toOutcome(error)
      if (!isAbort(error)) log.warn({ err: error, ...fields, status: outcome.status }, 'task failed')
    }
    if (entry.dropped) return
    if (task.kind === 'stop-attempt' && outcome.status === 'done') options.onGone(task)
    log.info({ ...fields, status: outcome.status, ms: Math.round(clock.monotonic() - startedAt) }, 'task ended')
    await sendReport(entry, outcome)
  }

  async function retryStart(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await retry({ clock, signal, tries: START_ATTEMPTS, baseMs: 200, maxMs: 2_000, retryIf: isPassing }, work)
  }

  async function sendReport(entry: Entry, outcome: Outcome): Promise<void> {
    const retryIf = (error: unknown): boolean =>
      !entry.dropped && !isAbort(error) && !endsWork('agent', error) && !isRefusal(error)
    try {
      await retry({ clock, signal: options.signal, baseMs: 100, maxMs: 10_000, retryIf }, async () => {
        const body: TaskReport = { epoch: options.epoch(), taskId: entry.task.id, revision: entry.task.revision, ...outcome }
        await server.report(body, { signal: options.signal })
      })
    } catch (error) {
      if (endsWork('agent', error)) options.onFenced(error)
      else if (!isAbort(error)) log.warn({ err: error, taskId: entry.task.id }, 'task not reported')
    }
  }

  return {
    accept(task) {
      const known = entries.get(task.id)
      if (known !== undefined) {
        if (task.revision > known.task.revision) known.task = task
        return
      }
      if (task.kind === 'stop-attempt') {
        for (const other of entries.values())
          if (other.task.kind === 'start-attempt' && attemptKey(other.task) === attemptKey(task))
            other.controller.abort(new DOMException('the attempt is stopped', 'AbortError'))
      }
      const entry: Entry = { task, controller: new AbortController(), dropped: false }
      entries.set(task.id, entry)
      void serial.run(attemptKey(task), () => carryOut(entry).finally(() => entries.delete(task.id)))
    },
    ids: () => [...entries.keys()],
    has: (ref) => serial.has(attemptKey(ref)),
    drop(ids) {
      for (const id of ids) {
        const entry = entries.get(id)
        if (entry === undefined) continue
        entry.dropped = true
        entry.controller.abort(new DOMException('the lease was lost', 'AbortError'))
      }
    },
    idle: () => serial.idle(),
  }
}

type Outcome = Pick<TaskReport, 'status' | 'reason' | 'message'>

/** Whether a quick retry can help. The executor has already waited for an object that is still being deleted. */
function isPassing(error: unknown): boolean {
  return !isBeingDeleted(error) && !isAbort(error) && (error instanceof Fault ? error.retryable : true)
}

function toOutcome(error: unknown): Outcome {
  const message = failureMessage(error).slice(0, 8192)
  if (isAbort(error)) return { status: 'failed', message }
  if (!(error instanceof Fault)) return { status: 'failed', reason: 'internal', message }
  const named = ReasonName.safeParse(error.details['reason'])
  const reason = named.success ? named.data : error.code === 'policy-refused' ? 'policy-refused' : 'pod-rejected'
  return { status: error.retryable ? 'failed' : 'refused', reason, message }
}
