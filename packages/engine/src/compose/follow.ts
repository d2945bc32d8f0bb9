/** Follows the containers of a composition: their output line by line, and their exit codes. */
import { isFault, sentences } from '@windlass/kit'
import type { StepPart } from '../attempt/context.ts'
import { passOn, type Passing } from '../containers/pass-on.ts'
import { refusalStatus, type Attachment } from '../docker/containers.ts'
import type { OutputPart } from '../docker/demux.ts'
import { ContainerLines } from './container-lines.ts'
import type { ProjectContainer } from './project.ts'

export interface Followed {
  readonly container: ProjectContainer
  /** The name that compose uses in its log: `db_1`. */
  readonly title: string
  /** The last lines of its output, unmasked. */
  readonly lastLines: readonly string[]
  /** Undefined while it runs or will be started (again). */
  readonly exitCode: number | undefined
  /** Resolves with the exit code when the container has ended and all its output is written. Rejects with the faults of the daemon. */
  readonly ended: Promise<number>
}

export interface Following {
  readonly all: readonly Followed[]
  /** Resolves when the exit codes and the last output of the containers that have ended by now are known, at the latest after two seconds. */
  settle(): Promise<void>
  /** Detaches from the containers; later output is lost. Resolves when nothing is being written anymore. */
  stop(): Promise<void>
}

export interface FollowOptions {
  readonly part: Pick<StepPart, 'context'>
  /** Receives whole lines. */
  readonly write: (parts: readonly OutputPart[]) => Promise<void>
}

/** Delay before checking a container again that closed its output or may be restarted by its policy. Milliseconds. */
const POLL_MS = 100

/** Longest wait for what a container that has ended printed last. One that was never started has no end. Milliseconds. */
const SETTLE_MS = 2_000

/** Attaches to all containers. Must be called before they start, so that no output is lost. */
export async function followContainers(
  containers: readonly ProjectContainer[],
  { part, write }: FollowOptions,
): Promise<Following> {
  const stopping = new AbortController()
  const titles = containers.map(({ service, number }) => `${service}_${number}`)
  const width = Math.max(0, ...titles.map(({ length }) => length))
  const all = await Promise.all(
    containers.map((container, index) => {
      const title = titles[index] ?? ''
      const lines = new ContainerLines(`${title.padEnd(width)}  | `)
      return follow({ container, title, lines, part, write, stopping: stopping.signal })
    }),
  )
  return {
    all,
    async settle() {
      await Promise.all(all.filter(({ exitCode }) => exitCode === undefined).map((one) => settle(one, part)))
    },
    async stop() {
      stopping.abort()
      await Promise.allSettled(all.map(({ ended }) => ended))
    },
  }
}

interface Follow extends FollowOptions {
  readonly container: ProjectContainer
  readonly title: string
  readonly lines: ContainerLines
  readonly stopping: AbortSignal
}

async function follow(options: Follow): Promise<Followed> {
  const { container, title, lines, part } = options
  const first = await part.context.docker.attachContainer(container.id, { stdin: false })
  const ended = pump(options, first)
  let exitCode: number | undefined
  ended.then(
    (code) => (exitCode = code),
    () => undefined,
  )
  return {
    container,
    title,
    ended,
    get lastLines() {
      return lines.last
    },
    get exitCode() {
      return exitCode
    },
  }
}

/** Waits for the end of a container that the daemon knows and that was not read yet. */
async function settle({ container, ended }: Followed, { context }: FollowOptions['part']): Promise<void> {
  const state = await context.docker.inspectContainer(container.id).catch(() => undefined)
  if (state === undefined || state.isRunning) return
  const over = new AbortController()
  const late = context.clock.sleep(SETTLE_MS, over.signal).catch(() => undefined)
  await Promise.race([ended.catch(() => undefined), late])
  over.abort()
}

/** Reads until the container has ended permanently. Attaches again if its restart policy restarts it. */
async function pump({ container, lines, part, write, stopping }: Follow, first: Attachment): Promise<number> {
  const { docker, clock } = part.context
  for (let attachment: Attachment | undefined = first; ;) {
    if (attachment !== undefined)
      await read({ docker, clock, id: container.id, attachment, write: (parts) => write(lines.push(parts)) }, stopping)
    stopping.throwIfAborted()
    const state = await docker.inspectContainer(container.id).catch(unlessGone)
    if (state === undefined || !state.isRunning) {
      await write(lines.end())
      return state?.exitCode ?? GONE
    }
    await clock.sleep(POLL_MS, stopping)
    // 409: it is about to be restarted.
    attachment = await docker.attachContainer(container.id, { stdin: false }).catch(unlessGone)
  }
}

async function read(passing: Passing, stopping: AbortSignal): Promise<void> {
  const { attachment } = passing
  const close = (): void => attachment.close()
  stopping.addEventListener('abort', close, { once: true })
  try {
    if (stopping.aborted) return
    await passOn(passing)
  } catch (error) {
    // Closing the connection in the middle of a frame looks like a lost daemon.
    if (!stopping.aborted || !isFault(error, 'docker-unreachable')) throw error
  } finally {
    stopping.removeEventListener('abort', close)
    close()
  }
}

/** Exit code of a container that was removed. */
const GONE = 137

function unlessGone(error: unknown): undefined {
  const status = refusalStatus(error)
  if (status !== 404 && status !== 409) throw error
}

/** Describes failed containers: name, exit code, last lines. Empty if there are none. */
export function describeFailures(followed: readonly Followed[]): string {
  const failed = followed.filter(({ exitCode }) => exitCode !== undefined && exitCode !== 0)
  return sentences(
    ...failed.map(
      ({ container, exitCode, lastLines }) =>
        `Service "${container.service}" ended with exit code ${exitCode}${quoteLines(lastLines)}`,
    ),
  )
}

/** Formats the last lines as the end of a sentence. */
export function quoteLines(lines: readonly string[]): string {
  return lines.length === 0 ? ', without output' : `; its last lines: ${lines.slice(-5).join(' ⏎ ')}`
}
