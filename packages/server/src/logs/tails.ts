/** The ends of streams with frames that are queued and not stored yet. The next frame of such a stream can be queued behind them. */
import type { StreamKey } from '../store/builds/streams.ts'

export interface Tails {
  /** Returns the end of the queued frames of a stream. Undefined if none is queued, or if one of them was refused. */
  endOf(stream: StreamKey): number | undefined
  /** Runs `work`, which queues and stores the frame. The stream ends after the frame until then, unless `work` rejects. */
  during<T>(frame: TailFrame, work: () => Promise<T>): Promise<T>
}

interface TailFrame extends StreamKey {
  readonly offset: number
  readonly bytes: Uint8Array
}

interface Tail {
  end: number
  frames: number
}

export function openTails(): Tails {
  const tails = new Map<string, Tail>()
  const keyOf = ({ buildId, attempt, stream }: StreamKey): string => `${buildId}/${attempt}/${stream}`
  return {
    endOf: (stream) => tails.get(keyOf(stream))?.end,
    async during(frame, work) {
      const key = keyOf(frame)
      const tail = tails.get(key) ?? { end: 0, frames: 0 }
      tail.end = Math.max(tail.end, frame.offset + frame.bytes.byteLength)
      tail.frames += 1
      tails.set(key, tail)
      try {
        return await work()
      } catch (error) {
        // The frames behind this one are refused too, and no further one may follow them.
        if (tails.get(key) === tail) tails.delete(key)
        throw error
      } finally {
        tail.frames -= 1
        if (tail.frames === 0 && tails.get(key) === tail) tails.delete(key)
      }
    },
  }
}
