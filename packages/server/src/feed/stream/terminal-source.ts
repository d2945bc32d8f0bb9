/** The topic of a terminal: its output and its end. */
import type { StreamTopic } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { findEnd, SEEN_MS } from '../../debug/stream.ts'
import { findTerminal, listParts, terminalTopic, updateTerminal } from '../../store/builds/terminals.ts'
import type { Source } from './source.ts'

type TerminalTopic = Extract<StreamTopic, { kind: 'terminal' }>

/** Minimum time between two turns. Echoes of typed characters wait for it. Milliseconds. */
const REST_MS = 20

export function openTerminalSource(app: App, { key, terminal: id, position: after }: TerminalTopic): Source {
  const { store, clock } = app
  let position = after
  let seenAt = clock.monotonic()

  /** Records that there is a reader. A terminal without one is closed. */
  async function noteSeen(): Promise<void> {
    if (clock.monotonic() - seenAt < SEEN_MS) return
    await store.write((tx) => updateTerminal(tx, id, { seen_at: clock.now() }))
    seenAt = clock.monotonic()
  }

  return {
    key,
    wakes: [terminalTopic(id)],
    restMs: REST_MS,
    position: () => position,
    async next(send) {
      await noteSeen()
      // Read the row before the parts: a terminal ends after its last part.
      const row = await findTerminal(store.query, id)
      const parts = await listParts(store.query, { terminal_id: id, direction: 'out' }, position)
      for (const { seq, data } of parts) {
        position = seq
        await send('terminal', { topic: key, seq, bytes: data })
      }
      if (parts.length > 0) return 'more'
      const end = await findEnd(app, row)
      if (end === undefined) return SEEN_MS
      await send('end', { topic: key, terminal: end })
      return 'end'
    },
  }
}
