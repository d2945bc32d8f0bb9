/** Runs one container from creation to its exit code: attached before it starts, stopped on request, its output passed on as it comes. */
import type { Clock } from '@windlass/kit'
import type { Attachment, ContainerSpec } from '../docker/containers.ts'
import type { OutputPart } from '../docker/demux.ts'
import type { Docker } from '../docker/docker.ts'
import type { StepUsage, UsageMeter } from './usage.ts'

export interface ContainerRun {
  readonly docker: Docker
  readonly clock: Clock
  readonly spec: ContainerSpec
  /** Takes output in order; while it waits, the container waits too. */
  readonly onOutput: (parts: readonly OutputPart[], signal?: AbortSignal) => Promise<void>
  /** Aborted to stop the container: TERM, `graceMs`, KILL. */
  readonly signal: AbortSignal
  readonly graceMs: number
  /** Written to standard input, which is closed then. */
  readonly input?: Uint8Array | undefined
  /** Looks at what the container uses. */
  readonly meter?: UsageMeter | undefined
  /** Called with the container made and not started. */
  readonly onCreated?: ((id: string) => Promise<void>) | undefined
}

export interface ContainerEnd {
  readonly id: string
  readonly exitCode: number
  /** The kernel killed a process of it, because memory ran out. */
  readonly oomKilled: boolean
  readonly memoryLimit: number
  /** Of containers that ran for a second and longer. */
  readonly usage?: StepUsage | undefined
}

/** Output that still comes after the container was stopped gets so long. */
const LAST_OUTPUT_MS = 5_000
/** After KILL; a process that hangs in the kernel longer than that is given up. */
const KILL_MS = 30_000

/**
 * Resolves when the container is gone and all its output was passed on. Rejects with the `StepStop` of `signal` once it is stopped, with
 * `docker-refused` when it cannot be made or started, and with `docker-unreachable`. The caller removes the container.
 */
export async function runContainer(run: ContainerRun, created: (id: string) => void): Promise<ContainerEnd> {
  const { docker, spec, signal } = run
  signal.throwIfAborted()
  // Neither making nor starting is broken off: nobody would know what became of the container.
  const id = await docker.createContainer(spec)
  created(id)
  await run.onCreated?.(id)
  using ended = new Ending()
  let running = await listen(run, { id, ended: ended.signal })
  try {
    signal.throwIfAborted()
    await docker.startContainer(id, async () => {
      running.attachment.close()
      running = await listen(run, { id, ended: ended.signal })
    })
    if (run.input !== undefined) running.attachment.input.end(run.input)
    using _looked = run.meter?.watch(id)
    return await untilGone(run, running)
  } finally {
    running.attachment.close()
  }
}

/** Attaches to a container that is not started, and watches for its exit. */
async function listen(run: ContainerRun, { id, ended }: { id: string; ended: AbortSignal }): Promise<Running> {
  const { docker, signal } = run
  const opened = Promise.all([
    docker.attachContainer(id, { stdin: run.input !== undefined, signal: ended }),
    docker.watchExit(id, ended),
  ])
  const [attachment, { exited }] = await unlessAborted(opened, signal)
  exited.catch(() => undefined)
  const pumped = pump(attachment, run)
  pumped.catch(() => undefined)
  return { id, attachment, exited, pumped }
}

/** What the work gives, or the reason of the signal as soon as it is aborted. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined)
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Aborts the calls that still hang when a run is over. */
class Ending {
  readonly #controller = new AbortController()

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  [Symbol.dispose](): void {
    this.#controller.abort()
  }
}

async function pump(attachment: Attachment, { onOutput, signal }: ContainerRun): Promise<void> {
  for await (const parts of attachment.output)
    await onOutput(parts, signal.aborted ? AbortSignal.timeout(LAST_OUTPUT_MS) : signal)
}

interface Running {
  readonly id: string
  readonly attachment: Attachment
  readonly exited: Promise<number>
  readonly pumped: Promise<void>
}

async function untilGone(run: ContainerRun, { id, exited, pumped }: Running): Promise<ContainerEnd> {
  const { docker, clock, signal } = run
  const { promise: aborted, resolve: abort } = Promise.withResolvers<'aborted'>()
  const onAbort = (): void => abort('aborted')
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    const first = await Promise.race([Promise.all([exited, pumped.catch(unlessStopped(signal))]), aborted])
    if (first === 'aborted') {
      await stop(run, id, exited)
      await Promise.race([pumped.catch(() => undefined), clock.sleep(LAST_OUTPUT_MS)])
      throw signal.reason
    }
    const [exitCode] = first
    if (signal.aborted) throw signal.reason
    const usage = run.meter?.peaksOf(id)
    if (exitCode === 0) return { id, exitCode, oomKilled: false, memoryLimit: 0, usage }
    const { oomKilled, memoryLimit } = await docker.inspectContainer(id)
    return { id, exitCode, oomKilled, memoryLimit, usage }
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** A writer that was told to stop rejects with the stop itself; the race above has it already. */
function unlessStopped(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}

/** TERM, wait, KILL, wait. */
async function stop({ docker, clock, graceMs }: ContainerRun, id: string, exited: Promise<number>): Promise<void> {
  const gone = exited.then(
    () => true,
    () => true,
  )
  await docker.killContainer(id, 'SIGTERM')
  if (await Promise.race([gone, clock.sleep(graceMs).then(() => false)])) return
  await docker.killContainer(id, 'SIGKILL')
  await Promise.race([gone, clock.sleep(KILL_MS)])
}
