/**
 * Puts items back in the order in which they happened. Facts and log bytes travel on two roads: the last lines of a step may arrive after
 * the news that it ended, because small frames wait up to 100 ms for more. The news is held for a moment, until they have come.
 */
import type { Clock } from '@windlass/kit'
import { stepStream } from '@windlass/protocol'
import type { ViewItem } from './log-view.ts'
import { textField } from './wording.ts'

export interface Reorder {
  /** Takes an item; passes on, now or soon, whatever is due. */
  push(item: ViewItem): void
  /** Passes on everything. */
  flush(): void
}

/** How much later than the end of a step its last frame may come. */
const LAG_MS = 200

/** `show` gets each item once. Nothing waits while no step has just ended. */
export function reorder(clock: Clock, show: (item: ViewItem) => void): Reorder {
  const held: { item: ViewItem; dueAt: number }[] = []
  let newest = 0
  let isWaiting = false

  function release(): void {
    for (let first = held[0]; first !== undefined; first = held[0]) {
      const mustWait =
        closedStream(first.item) !== undefined && first.dueAt > clock.monotonic() && first.item.at + LAG_MS > newest
      if (mustWait) break
      held.shift()
      show(first.item)
    }
    const next = held[0]
    if (next === undefined || isWaiting) return
    isWaiting = true
    void clock.sleep(Math.max(1, next.dueAt - clock.monotonic())).then(() => {
      isWaiting = false
      release()
    })
  }

  return {
    push(item) {
      newest = Math.max(newest, item.at)
      const end = item.kind === 'log' ? held.findIndex((other) => closedStream(other.item) === item.stream) : -1
      if (end === 0) return show(item)
      held.splice(end < 0 ? held.length : end, 0, { item, dueAt: clock.monotonic() + LAG_MS })
      release()
    },
    flush() {
      for (const { item } of held.splice(0)) show(item)
    },
  }
}

/** The stream that gets no more bytes after this news. */
function closedStream(item: ViewItem): string | undefined {
  if (item.kind !== 'event' || item.type !== 'step.finished') return undefined
  const step = textField(item.data, 'step')
  return step === undefined ? undefined : stepStream(step)
}
