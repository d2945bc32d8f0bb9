/** Shows the feed of a build on a server. */
import { isFault, systemClock } from '@windlass/kit'
import type { ApiClient } from '@windlass/client'
import type { Build, FeedItem } from '@windlass/protocol'
import { z } from 'zod'
import type { Printer, Terminal } from '../printer.ts'
import { followFeed, readFeed, type FollowOptions } from './feed.ts'
import { LogView } from './log-view.ts'
import { tailTerminal } from './tail-terminal.ts'
import { getKnownBuild, hasEnded } from './until-final.ts'

export interface ShowOptions {
  readonly client: ApiClient
  readonly build: Build
  readonly out: Printer
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** Follows to the end of the build; otherwise shows what is stored now. */
  readonly follow: boolean
  readonly step?: string | undefined
  /** Starts with this number of last lines. */
  readonly tail?: number | undefined
  readonly timestamps?: boolean | undefined
}

export interface Shown {
  readonly lastLines: (step: string) => readonly string[]
  /** The step whose lines were printed last. */
  readonly shownLast: string | undefined
}

/** Shows the feed. Resolves when it has ended or the signal is aborted. */
export async function showFeed(options: ShowOptions): Promise<Shown> {
  const { build, step, tail } = options
  const screen = tail === undefined ? undefined : tailTerminal(options.terminal, tail)
  const terminal = screen?.terminal ?? options.terminal
  // The response for a new build has no steps yet.
  const fetchBuild = (): Promise<Build> =>
    getKnownBuild({ client: options.client, buildId: build.id, clock: systemClock, signal: options.signal })
  const titles = new Map<string, string>()
  const titleOf = (name: string): string => titles.get(name) ?? name
  const groups = new Set<string>()
  const addSteps = (known: NonNullable<Build['steps']>): void => {
    for (const { name, title, type } of known) {
      titles.set(name, title)
      if (type === 'group') groups.add(name)
    }
  }
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
  // Printed before the first call, so that the id of the build is known even if the server stops answering.
  if (step === undefined && tail === undefined) view.note(heading(build, terminal))
  addSteps(build.steps ?? (await fetchBuild()).steps ?? [])
  let after = 0
  let isExpired = false
  const take = async (item: FeedItem): Promise<void> => {
    // Steps from a repository are known after the engine has fetched it.
    if (item.kind === 'event' && item.type === 'build.resolved') {
      const types = typesIn(item.data)
      if (step === undefined && tail === undefined && types !== '') view.note(terminal.style.dim(`Step types: ${types}`))
      if (groups.size + titles.size === 0) addSteps((await fetchBuild()).steps ?? [])
    }
    // Many ranges may be missing; print the note once.
    if (item.kind === 'event' && item.type === 'log.expired' && !isExpired) {
      isExpired = true
      view.note(terminal.style.yellow('! The log of this build has expired; only its events are available.'))
    }
    view.show(item.kind === 'log' ? { ...item, bytes: Buffer.from(item.bytes, 'base64') } : item)
    after = item.position
    await options.terminal.drained()
  }
  // On a terminal a note must not break the status line of the view.
  const say = (text: string): void => (terminal.isTTY && screen === undefined ? view.note(text) : options.out.note(text))
  const isOver = hasEnded(build)
  if (screen !== undefined || !options.follow) {
    // The stored log of an ended build is read as one stream.
    const stored = isOver
      ? followFeed(toFollow(options, { after, say }))
      : readFeed({ client: options.client, buildId: build.id, after })
    for await (const item of stored) await take(item)
    screen?.release()
  }
  if (options.follow && !(isOver && screen !== undefined))
    for await (const item of followFeed(toFollow(options, { after, say }))) await take(item)
  return { lastLines: (name) => view.lastLines(name), shownLast: view.openStep }
}

const Resolved = z.object({ stepTypes: z.array(z.object({ name: z.string(), version: z.string() })) })

/** Returns the resolved step types of a build, such as `acme/greet:1.0.0`. */
function typesIn(data: unknown): string {
  const found = Resolved.safeParse(data)
  return found.success ? found.data.stepTypes.map(({ name, version }) => `${name}:${version}`).join(', ') : ''
}

function toFollow(
  { client, build, signal, out }: ShowOptions,
  { after, say }: { after: number; say: (text: string) => void },
): FollowOptions {
  const onBreak = (error: unknown): void => {
    const isFull = isFault(error, 'too-many-readers')
    const text = isFull ? `${error.message} Retrying.` : 'Lost the connection to the server; reconnecting.'
    say(out.stderr.style.yellow(text))
  }
  const onBack = (): void => say(out.stderr.style.dim('Reconnected.'))
  return { client, buildId: build.id, clock: systemClock, signal, onBreak, onBack, after }
}

function heading(build: Build, { style }: Terminal): string {
  const parts = [
    build.pipeline ?? build.file ?? '',
    build.branch === undefined ? '' : `branch ${build.branch}`,
    build.restartOf === undefined ? '' : `restart of ${build.restartOf}`,
  ].filter((part) => part !== '')
  return style.bold(`Build ${build.id}`) + style.dim(parts.map((part) => `  ${part}`).join(''))
}
