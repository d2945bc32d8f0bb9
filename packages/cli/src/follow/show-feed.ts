/** Shows the feed of a server's build on a terminal. */
import { systemClock } from '@windlass/kit'
import type { Build, Client, FeedItem } from '@windlass/protocol'
import type { Printer, Terminal } from '../printer.ts'
import { followFeed, type FollowOptions } from './feed.ts'
import { LogView } from './log-view.ts'
import { tailTerminal } from './tail-terminal.ts'
import { describeOutcome } from './wording.ts'

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
  const titles = new Map((build.steps ?? []).map(({ name, title }) => [name, title]))
  const titleOf = (name: string): string => titles.get(name) ?? name
  using view = new LogView({ terminal, clock: systemClock, timestamps: options.timestamps ?? false, step, titleOf })
  if (step === undefined && tail === undefined) view.note(heading(build, terminal))
  let after = 0
  if (screen !== undefined) {
    for await (const item of followFeed(toFollow(options, { follow: false, after }))) {
      showItem(view, item)
      after = item.position
    }
    screen.release()
  }
  if (options.follow || screen === undefined)
    for await (const item of followFeed(toFollow(options, { follow: options.follow, after }))) showItem(view, item)
  return { lastLines: (name) => view.lastLines(name), shownLast: view.openStep }
}

function toFollow({ client, build, signal, out }: ShowOptions, part: { follow: boolean; after: number }): FollowOptions {
  const onBreak = (): void => out.note(out.stderr.style.yellow('The connection to the server is lost; reconnecting.'))
  const onBack = (): void => out.note(out.stderr.style.dim('Connected again.'))
  return { client, buildId: build.id, clock: systemClock, signal, onBreak, onBack, ...part }
}

function showItem(view: LogView, item: FeedItem): void {
  if (item.kind === 'log') return view.show({ ...item, bytes: Buffer.from(item.bytes, 'base64') })
  view.show(item)
  if (item.source === 'server' && item.type === 'build.waiting') view.note(`waiting: ${describeOutcome(item.data)}`)
}

function heading(build: Build, { style }: Terminal): string {
  const parts = [
    build.pipeline ?? '',
    build.branch === undefined ? '' : `branch ${build.branch}`,
    build.restartOf === undefined ? '' : `repeats ${build.restartOf}`,
  ].filter((part) => part !== '')
  return style.bold(`Build ${build.id}`) + style.dim(parts.map((part) => `  ${part}`).join(''))
}
