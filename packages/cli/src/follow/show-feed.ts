/** Shows the feed of a server's build on a terminal. */
import { systemClock } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import type { Build, Client, FeedItem } from '@windlass/protocol'
import { z } from 'zod'
import { getBuild } from '../api.ts'
import type { Printer, Terminal } from '../printer.ts'
import { followFeed, readFeed, type FollowOptions } from './feed.ts'
import { LogView } from './log-view.ts'
import { reorder } from './reorder.ts'
import { tailTerminal } from './tail-terminal.ts'

export interface ShowOptions {
  readonly client: Client
  readonly build: Build
  readonly out: Printer
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** Go on to the end of the build; else what is there now. */
  readonly follow: boolean
  readonly step?: string | undefined
  /** Begin with the last so many lines. */
  readonly tail?: number | undefined
  readonly timestamps?: boolean | undefined
}

export interface Shown {
  readonly lastLines: (step: string) => readonly string[]
  /** The step whose lines stand last on the screen. */
  readonly shownLast: string | undefined
}

/** Resolves when the feed has ended or the signal is aborted. */
export async function showFeed(options: ShowOptions): Promise<Shown> {
  const { build, step, tail } = options
  const screen = tail === undefined ? undefined : tailTerminal(options.terminal, tail)
  const terminal = screen?.terminal ?? options.terminal
  // The answer to a new build has no steps yet.
  const steps = build.steps ?? (await getBuild(options.client, build.id, options.signal)).steps ?? []
  const titles = new Map<string, string>()
  const titleOf = (name: string): string => titles.get(name) ?? name
  const groups = new Set<string>()
  const learn = (known: NonNullable<Build['steps']>): void => {
    for (const { name, title, type } of known) {
      titles.set(name, title)
      if (type === 'group') groups.add(name)
    }
  }
  learn(steps)
  const isGroup = (name: string): boolean => groups.has(name)
  using view = new LogView({
    terminal,
    clock: systemClock,
    timestamps: options.timestamps ?? false,
    step,
    titleOf,
    isGroup,
    buildId: build.id,
  })
  if (step === undefined && tail === undefined) view.note(heading(build, terminal))
  const order = reorder(systemClock, (item) => view.show(item))
  let after = 0
  const take = async (item: FeedItem): Promise<void> => {
    // Steps that stand in a repository come once the engine has fetched them.
    if (item.kind === 'event' && item.type === 'build.resolved') {
      const types = typesIn(item.data)
      if (step === undefined && tail === undefined && types !== '') view.note(terminal.style.dim(`Step types: ${types}`))
      if (groups.size + titles.size === 0) learn((await getBuild(options.client, build.id, options.signal)).steps ?? [])
    }
    order.push(item.kind === 'log' ? { ...item, bytes: Buffer.from(item.bytes, 'base64') } : item)
    after = item.position
    await options.terminal.drained()
  }
  const isOver = isFinalBuild(build.status)
  if (screen !== undefined || !options.follow) {
    // The whole log of a build that has ended comes as one stream, whatever its size.
    const stored = isOver ? followFeed(toFollow(options, after)) : readFeed({ client: options.client, buildId: build.id, after })
    for await (const item of stored) await take(item)
    order.flush()
    screen?.release()
  }
  if (options.follow && !(isOver && screen !== undefined))
    for await (const item of followFeed(toFollow(options, after))) await take(item)
  order.flush()
  return { lastLines: (name) => view.lastLines(name), shownLast: view.openStep }
}

const Resolved = z.object({ stepTypes: z.array(z.object({ name: z.string(), version: z.string() })) })

/** The step types that a build was resolved to, such as `acme/greet:1.0.0`. */
function typesIn(data: unknown): string {
  const found = Resolved.safeParse(data)
  return found.success ? found.data.stepTypes.map(({ name, version }) => `${name}:${version}`).join(', ') : ''
}

function toFollow({ client, build, signal, out }: ShowOptions, after: number): FollowOptions {
  const onBreak = (): void => out.note(out.stderr.style.yellow('The connection to the server is lost; reconnecting.'))
  const onBack = (): void => out.note(out.stderr.style.dim('Connected again.'))
  return { client, buildId: build.id, clock: systemClock, signal, onBreak, onBack, after }
}

function heading(build: Build, { style }: Terminal): string {
  const parts = [
    build.pipeline ?? '',
    build.branch === undefined ? '' : `branch ${build.branch}`,
    build.restartOf === undefined ? '' : `repeats ${build.restartOf}`,
  ].filter((part) => part !== '')
  return style.bold(`Build ${build.id}`) + style.dim(parts.map((part) => `  ${part}`).join(''))
}
