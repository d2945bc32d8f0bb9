/** Runs one container from creation to its exit code: attaches before the start, stops it on request, and passes its output on. */
import { fault, type Clock } from '@windlass/kit'
import { isTransientStart, type Attachment, type ContainerSpec } from '../docker/containers.ts'
import type { OutputPart } from '../docker/demux.ts'
import type { Docker } from '../docker/docker.ts'
import type { Greeting } from './greeting.ts'
import { passOn } from './pass-on.ts'
import type { StepUsage, UsageMeter } from './usage.ts'

export interface ContainerRun {
  readonly docker: Docker
  readonly clock: Clock
  readonly spec: ContainerSpec
  /** Takes output in order. The container is paused while it waits. */
  readonly onOutput: (parts: readonly OutputPart[], signal?: AbortSignal) => Promise<void>
  /** Aborted to stop the container: TERM, `graceMs`, KILL. */
  readonly signal: AbortSignal
  readonly graceMs: number
  /** Written to standard input, which is closed afterwards. */
  readonly input?: Uint8Array | undefined
  /** The script greets, and waits for a line on standard input. It is one for each container. */
  readonly greeting?: (() => Greeting) | undefined
  /** Measures the resource usage of the container. */
  readonly meter?: UsageMeter | undefined
  /** Called when the container is created and not started. */
  readonly onCreated?: ((id: string) => Promise<void>) | undefined
}

export interface ContainerEnd {
  readonly id: string
  readonly exitCode: number
  /** The kernel killed one of its processes because memory ran out. */
  readonly oomKilled: boolean
  readonly memoryLimit: number
  /** Only for containers that ran for at least a second. */
  readonly usage?: StepUsage | undefined
}

/** How long to read output after the container was stopped. Milliseconds. */
const LAST_OUTPUT_MS = 5_000
/** How long to wait for the exit code after the end of the output before inspecting the container. Milliseconds. */
const EXIT_NEWS_MS = 1_000
/** How long to wait for the greeting of a script before it is let go on. Milliseconds. */
const GREETING_MS = 10_000
/** How long to wait after KILL. A process may hang in the kernel. Milliseconds. */
const KILL_MS = 30_000

/**
 * Runs a container. Resolves when it has ended and all its output was passed on. Rejects with the `StepStop` of `signal` once it is stopped, with
 * `docker-refused` if it cannot be created or started, and with `docker-unreachable`. The caller must remove the container.
 */
export async function runContainer(run: ContainerRun, created: (id: string) => void): Promise<ContainerEnd> {
  let failed = ''
  try {
    return await runOnce(run, (id) => created((failed = id)))
  } catch (error) {
    if (!isTransientStart(error)) throw error
    run.docker.onRetry?.({ operation: 'start container', error, delayMs: 0 })
    // Another container is needed: the daemon may still process the end of this one, which would detach us.
    await run.docker.removeContainer(failed)
    return runOnce(run, created)
  }
}

async function runOnce(run: ContainerRun, created: (id: string) => void): Promise<ContainerEnd> {
  const { docker, spec, signal } = run
  signal.throwIfAborted()
  // Creation and start are not aborted, because the state of the container would be unknown.
  const id = await docker.createContainer(spec)
  created(id)
  await run.onCreated?.(id)
  using ended = new Ending()
  const running = await attach(run, { id, ended: ended.signal })
  try {
    signal.throwIfAborted()
    await docker.startContainer(id, { tries: 1 })
    if (run.input !== undefined) running.attachment.input.end(run.input)
    if (running.greeting !== undefined) void answer(run, running, running.greeting)
    using _watched = run.meter?.watch(id)
    return await awaitExit(run, running)
  } finally {
    running.attachment.close()
  }
}

/** Attaches to a created container and watches for its exit. */
async function attach(run: ContainerRun, { id, ended }: { id: string; ended: AbortSignal }): Promise<Running> {
  const { docker, signal } = run
  const opened = Promise.all([docker.attachContainer(id, { stdin: run.spec.stdin, signal: ended }), docker.watchExit(id, ended)])
  const [attachment, { exited }] = await unlessAborted(opened, signal)
  exited.catch(() => undefined)
  const greeting = run.greeting?.()
  const pumped = pump({ id, attachment, greeting }, run)
  pumped.catch(() => undefined)
  return { id, attachment, greeting, exited, pumped }
}

/** Lets a script go on that has greeted, or has had the time to. */
async function answer({ clock }: ContainerRun, { attachment, pumped }: Running, greeting: Greeting): Promise<void> {
  const over = new AbortController()
  const late = clock.sleep(GREETING_MS, over.signal).catch(() => undefined)
  await Promise.race([greeting.heard, pumped.catch(() => undefined), late])
  over.abort()
  // The connection stays open in both directions, because proxies close it at the end of one.
  if (!attachment.input.destroyed) attachment.input.write('\n')
}

/** Resolves like `work`, or rejects with the reason of the signal once it is aborted. */
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

/** Aborts pending calls at the end of a run. */
class Ending {
  readonly #controller = new AbortController()

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  [Symbol.dispose](): void {
    this.#controller.abort()
  }
}

function pump(
  { id, attachment, greeting }: Pick<Running, 'id' | 'attachment' | 'greeting'>,
  { docker, clock, onOutput, signal }: ContainerRun,
): Promise<void> {
  async function write(parts: readonly OutputPart[]): Promise<void> {
    const own = greeting?.strip(parts) ?? parts
    if (own.length > 0) await onOutput(own, signal.aborted ? AbortSignal.timeout(LAST_OUTPUT_MS) : signal)
  }
  return passOn({ docker, clock, id, attachment, write })
}

interface Running {
  readonly id: string
  readonly attachment: Attachment
  readonly greeting: Greeting | undefined
  readonly exited: Promise<number>
  readonly pumped: Promise<void>
}

/** Throws `docker-unreachable` if the output ended before the container, because later output would be lost. */
async function requireEnd({ docker, clock }: ContainerRun, { id, exited }: Running): Promise<void> {
  const ended = exited.then(
    () => true,
    () => true,
  )
  if (await Promise.race([ended, clock.sleep(EXIT_NEWS_MS).then(() => false)])) return
  const isRunning = docker.inspectContainer(id).then((state) => state.isRunning)
  if (!(await Promise.race([isRunning, ended.then(() => false)]))) return
  throw fault('docker-unreachable', { message: 'The Docker daemon ended the output of a running container.' })
}

async function awaitExit(run: ContainerRun, running: Running): Promise<ContainerEnd> {
  const { docker, clock, signal } = run
  const { id, exited } = running
  const pumped = running.pumped.then(() => requireEnd(run, running))
  pumped.catch(() => undefined)
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

/** A writer that was stopped rejects with the same reason, which the race above already has. */
function unlessStopped(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}

/** Stops a container: TERM, wait, KILL, wait. */
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
