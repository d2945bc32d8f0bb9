/** The topic of a build: its events, the sizes of its log streams, and its end. */
import { defined } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import type { LogHead, StreamTopic } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { feedTopic } from '../../builds/lifecycle/edit.ts'
import { totalLines } from '../../logs/text/line-count.ts'
import { listEvents } from '../../store/builds/events.ts'
import { listStreamPage } from '../../store/builds/logs/streams.ts'
import type { BuildRow, StreamRow } from '../../store/schema/schema.ts'
import { toItem } from '../feed.ts'
import { readFollowed } from '../follow.ts'
import { UNTIL_WOKEN, type Send, type Source } from './source.ts'

type BuildTopic = Extract<StreamTopic, { kind: 'build' }>

/** Events of one turn. */
const PAGE = 100
/** Streams of one event. */
const HEADS = 500
/** Minimum time between two reads of the sizes. Milliseconds. */
const HEADS_MS = 250
/** Share of the time that reading the sizes may take: builds can have thousands of streams. */
const HEADS_SHARE = 0.1

/** Minimum time between two turns: a busy build wakes its followers many times a second. Milliseconds. */
const REST_MS = 100

export function openBuildSource(app: App, { key, build: buildId, position: after }: BuildTopic): Source {
  let position = after
  const heads = openHeads(app, key)

  async function sendEvents(build: BuildRow, send: Send): Promise<boolean> {
    const rows = await listEvents(app.store.query, buildId, { after: position, limit: PAGE })
    for (const event of rows) {
      if (event.position > build.feed_position) break
      const item = await toItem(app.store.query, { position: event.position, bytes: event.length, event })
      position = event.position
      if (item?.kind === 'event') await send('event', { topic: key, item })
    }
    // The other positions are chunks of the log, and events whose log has expired.
    if (rows.length < PAGE) position = Math.max(position, build.feed_position)
    return position < build.feed_position
  }

  return {
    key,
    wakes: [feedTopic(buildId)],
    restMs: REST_MS,
    position: () => position,
    async next(send) {
      const build = await readFollowed(app, buildId)
      if (position < build.feed_position && (await sendEvents(build, send))) return 'more'
      const isOver = isFinalBuild(build.status)
      const wait = await heads.send(build, { send, isOver })
      if (!isOver) return wait
      await send('end', { topic: key, status: build.status, ...defined({ reason: build.reason ?? undefined }) })
      return 'end'
    },
  }
}

interface Turn {
  readonly send: Send
  /** The build has ended, so that no later turn sends what is new. */
  readonly isOver: boolean
}

/** Sends the sizes of streams that are new or have grown. */
function openHeads(app: App, topic: string): { send(build: BuildRow, turn: Turn): Promise<number> } {
  /** `ATTEMPT STREAM` -> bytes. */
  const sent = new Map<string, number>()
  let seenPosition = -1
  let dueAt = 0

  async function read(build: BuildRow, send: Send): Promise<void> {
    // Only the streams of the current attempt grow.
    const attempt = seenPosition < 0 ? undefined : build.attempt
    let after: { readonly attempt: number; readonly stream: string } | undefined
    for (let rows: StreamRow[] = []; after === undefined || rows.length === HEADS;) {
      rows = await listStreamPage(app.store.query, build.id, { attempt, after, limit: HEADS })
      const grown = rows.filter((row) => sent.get(nameOf(row)) !== row.bytes)
      for (const row of grown) sent.set(nameOf(row), row.bytes)
      if (grown.length > 0) await send('heads', { topic, streams: grown.map(toHead) })
      const last = rows.at(-1)
      if (last === undefined) return
      after = { attempt: last.attempt, stream: last.stream }
    }
  }

  return {
    async send(build, { send, isOver }) {
      if (build.feed_position === seenPosition) return UNTIL_WOKEN
      const start = app.clock.monotonic()
      if (start < dueAt && !isOver) return dueAt - start
      await read(build, send)
      seenPosition = build.feed_position
      const took = app.clock.monotonic() - start
      dueAt = start + Math.max(HEADS_MS, took / HEADS_SHARE)
      return UNTIL_WOKEN
    },
  }
}

function nameOf({ attempt, stream }: StreamRow): string {
  return `${attempt} ${stream}`
}

function toHead(row: StreamRow): LogHead {
  const { attempt, stream, bytes, counted } = row
  return { attempt, stream, bytes, ...defined({ lines: counted < bytes ? undefined : totalLines(row) }) }
}
