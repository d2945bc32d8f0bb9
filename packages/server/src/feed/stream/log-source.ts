/** The topic of a log stream: its bytes from an offset. A reader that is far behind gets the end of the stream. */
import { MAX_UNREAD_LOG_BYTES, type StreamTopic } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { feedTopic } from '../../builds/lifecycle/edit.ts'
import { findAttempt, isLiveAttempt } from '../../store/builds/attempts.ts'
import { findStreamEnd } from '../../store/builds/logs/streams.ts'
import { readFollowed } from '../follow.ts'
import { UNTIL_WOKEN, type Source } from './source.ts'

type LogTopic = Extract<StreamTopic, { kind: 'log' }>

/** Bytes before the end of the stream at which a reader that is behind continues. */
const NEAR_END_BYTES = 65_536
/** Bytes of one turn. */
const TURN_BYTES = 262_144

/** Minimum time between two turns: a busy build wakes its followers many times a second. Milliseconds. */
const REST_MS = 250

export function openLogSource(app: App, { key, build: buildId, attempt, stream, position: offset }: LogTopic): Source {
  const { store, logs } = app
  const name = { buildId, attempt, stream }
  let position = offset
  return {
    key,
    wakes: [feedTopic(buildId)],
    restMs: REST_MS,
    position: () => position,
    async next(send) {
      const build = await readFollowed(app, buildId)
      // Read the attempt before the stream: an attempt ends after its last output.
      const row = await findAttempt(store.query, buildId, attempt)
      const end = await findStreamEnd(store.query, name)
      if (end - position > MAX_UNREAD_LOG_BYTES) {
        const from = position
        position = end - NEAR_END_BYTES
        await send('behind', { topic: key, from, to: position })
      }
      const to = Math.min(end, position + TURN_BYTES)
      for await (const bytes of logs.read(name, { from: position, to })) {
        const at = position
        position += bytes.byteLength
        await send('log', { topic: key, offset: at, bytes: bytes.toString('base64') })
      }
      if (position < end) return 'more'
      const isOver = row === undefined ? build.attempt >= attempt : !isLiveAttempt(row.status)
      if (!isOver) return UNTIL_WOKEN
      await send('end', { topic: key })
      return 'end'
    },
  }
}
