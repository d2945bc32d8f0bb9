/** Follows the containers of a composition: their output line by line, and what they ended as. */
import { isFault } from '@windlass/kit'
import type { StepPart } from '../attempt/context.ts'
import { refusalStatus, type Attachment } from '../docker/containers.ts'
import type { OutputPart } from '../docker/demux.ts'
import { ContainerLines } from './container-lines.ts'
import type { ProjectContainer } from './project.ts'

export interface Followed {
  readonly container: ProjectContainer
  /** As compose calls it in its log: `db_1`. */
  readonly title: string
  /** The last lines of its output, not masked. */
  readonly lastLines: readonly string[]
  /** Undefined while it runs, or is to be started (again). */
  readonly exitCode: number | undefined
  /** Resolves with the exit code when it has ended for good and all its output was written. Rejects with the faults of the daemon. */
  readonly ended: Promise<number>
}

export interface Following {
  readonly all: readonly Followed[]
  /** Lets go of the containers; what they say from here on is lost. Resolves when nothing is written any more. */
  stop(): Promise<void>
}

export interface FollowOptions {
  readonly part: Pick<StepPart, 'context'>
  /** In whole lines. */
  readonly write: (parts: readonly OutputPart[]) => Promise<void>
}

/** A restart policy, or a program that has closed its output: how long until looking again. */
const LOOK_MS = 100

/** Attaches to all of them. Call it before they start: nothing is missed then. */
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

/** Reads until the container is gone for good; one that its restart policy starts again is attached again. */
async function pump({ container, lines, part, write, stopping }: Follow, first: Attachment): Promise<number> {
  const { docker, clock } = part.context
  for (let attachment: Attachment | undefined = first; ;) {
    if (attachment !== undefined) await read(attachment, { lines, write, stopping })
    stopping.throwIfAborted()
    const state = await docker.inspectContainer(container.id).catch(unlessGone)
    if (state === undefined || !state.isRunning) {
      await write(lines.end())
      return state?.exitCode ?? GONE
    }
    await clock.sleep(LOOK_MS, stopping)
    // 409: it is about to be started again.
    attachment = await docker.attachContainer(container.id, { stdin: false }).catch(unlessGone)
  }
}

async function read(
  attachment: Attachment,
  { lines, write, stopping }: Pick<Follow, 'lines' | 'write' | 'stopping'>,
): Promise<void> {
  const close = (): void => attachment.close()
  stopping.addEventListener('abort', close, { once: true })
  try {
    if (stopping.aborted) return
    for await (const parts of attachment.output) await write(lines.push(parts))
  } catch (error) {
    // Closing the connection in the middle of a frame looks like a daemon that broke off.
    if (!stopping.aborted || !isFault(error, 'docker-unreachable')) throw error
  } finally {
    stopping.removeEventListener('abort', close)
    attachment.close()
  }
}

/** Of a container that somebody has removed. */
const GONE = 137

function unlessGone(error: unknown): undefined {
  const status = refusalStatus(error)
  if (status !== 404 && status !== 409) throw error
}

/** What a person needs to know of containers that ended badly: name, exit code, last lines. Empty when none did. */
export function describeFailures(followed: readonly Followed[]): string {
  return followed
    .filter(({ exitCode }) => exitCode !== undefined && exitCode !== 0)
    .map(
      ({ container, exitCode, lastLines }) =>
        `Service "${container.service}" ended with exit code ${exitCode}${quoteLines(lastLines)}`,
    )
    .join(' ')
}

/** The last lines after a sentence, and its end. */
export function quoteLines(lines: readonly string[]): string {
  return lines.length === 0 ? ', without a word.' : `; its last lines: ${lines.slice(-5).join(' ⏎ ')}`
}
