/** Sends the log of a build to a client of the log socket, in the order that the client relies on: all lines, then the final status. */
import { isFinalBuild } from '@windlass/plan'
import type { App } from '../../../app.ts'
import { feedTopic } from '../../../builds/lifecycle/edit.ts'
import { noteFollower } from '../../../feed/follow.ts'
import { readFeed } from '../../../feed/feed.ts'
import { findBuild } from '../../../store/builds/builds.ts'
import type { BuildRow } from '../../../store/schema/schema.ts'
import { mergeFrame, valueFrame } from './frames.ts'
import { openLogLines, type LogAddition } from './log-lines.ts'
import { openLogWindow, toStepNode } from './log-window.ts'

const PAGE = 200

export interface Following {
  readonly buildId: string
  /** Path of the node that is sent. */
  readonly path: string
  readonly signal: AbortSignal
  /** Resolves when the client can accept more. Rejects if it does not. */
  readonly send: (frame: string) => Promise<void>
}

/** Reads new items of the feed in order, and waits for more until the build has ended. */
async function* readAdditions(app: App, { buildId, signal }: Pick<Following, 'buildId' | 'signal'>): AsyncGenerator<LogPage> {
  using watch = app.store.watch(feedTopic(buildId))
  const lines = openLogLines()
  let position = 0
  while (!signal.aborted) {
    const build = await findBuild(app.store.query, app.accountId, buildId)
    if (build === undefined) return
    await noteFollower(app, build)
    const items = position < build.feed_position ? await readFeed(app, build, { after: position, limit: PAGE }) : []
    position = items.at(-1)?.position ?? position
    const additions = items.flatMap((item) => lines.take(item))
    const isEnd = isFinalBuild(build.status) && position >= build.feed_position
    if (isEnd) additions.push(...lines.end(build))
    const isCurrent = items.length === 0 || position >= build.feed_position
    yield { additions, isCurrent, isEnd }
    if (isEnd) return
    if (items.length === 0) await watch.next(app.store.pollMs, signal)
  }
}

interface LogPage {
  readonly additions: readonly LogAddition[]
  /** True if the page contains the newest item so far. */
  readonly isCurrent: boolean
  readonly isEnd: boolean
}

/**
 * Sends the steps of a build as one value, then calls `sent`, then sends further lines as they arrive. Resolves when the build has ended and all lines are
 * sent, or when the client does not want more.
 */
export async function followSteps(
  app: App,
  following: Following,
  { sent, mark }: { sent: () => Promise<void>; mark: boolean },
): Promise<void> {
  const { path, send } = following
  const window = openLogWindow()
  let isSent = false
  for await (const { additions, isCurrent } of readAdditions(app, following)) {
    if (isSent) {
      for (const addition of additions) await send(additionFrame(path, addition))
      continue
    }
    window.add(additions)
    if (!isCurrent) continue
    await send(valueFrame(path, window.toNode(mark)))
    await sent()
    isSent = true
  }
}

function additionFrame(path: string, { step, isNew, lines }: LogAddition): string {
  const logs = Object.fromEntries(lines.map(({ key, text }) => [key, text]))
  return isNew ? valueFrame(`${path}/${step.key}`, toStepNode(step, logs)) : mergeFrame(`${path}/${step.key}/logs`, logs)
}

/** Returns the node of a build as it is now: status and steps. Undefined if the build does not exist. */
export async function readLogNode(app: App, following: Pick<Following, 'buildId' | 'signal'>): Promise<object | undefined> {
  const window = openLogWindow()
  for await (const { additions, isCurrent } of readAdditions(app, following)) {
    window.add(additions)
    if (isCurrent) break
  }
  const build = await findBuild(app.store.query, app.accountId, following.buildId)
  return build && { status: build.status, steps: window.toNode(true) ?? {} }
}

/**
 * Sends the status of a build now and whenever it changes. Sends a final status only after `steps` has resolved, because clients leave when they see it.
 * Resolves after the final status.
 */
export async function followStatus(
  app: App,
  { buildId, path, signal, send }: Following,
  { sent, steps }: { readonly sent: () => Promise<void>; readonly steps: () => Promise<void> },
): Promise<void> {
  using watch = app.store.watch(feedTopic(buildId))
  let shown: BuildRow['status'] | undefined
  while (!signal.aborted) {
    const status = (await findBuild(app.store.query, app.accountId, buildId))?.status
    if (status === undefined) return
    const isFinal = isFinalBuild(status)
    if (shown === undefined) {
      shown = isFinal ? 'running' : status
      await send(valueFrame(path, shown))
      await sent()
    } else if (!isFinal && status !== shown) {
      shown = status
      await send(valueFrame(path, status))
    }
    if (isFinal) {
      await steps()
      return signal.aborted ? undefined : send(valueFrame(path, status))
    }
    await watch.next(app.store.pollMs, signal)
  }
}
