/** The ends of streams with frames that are queued and not stored yet. The next frame of such a stream can be queued behind them. */
import type { StreamKey } from '../store/builds/logs/streams.ts'

export interface QueuedEnds {
  /** Returns the end of the queued frames of a stream. Undefined if none is queued, or if one of them was refused. */
  endOf(stream: StreamKey): number | undefined
  /** Runs `work`, which queues and stores the frame. The stream ends after the frame until then, unless `work` rejects. */
  during<T>(frame: FrameRange, work: () => Promise<T>): Promise<T>
}

interface FrameRange extends StreamKey {
  readonly offset: number
  readonly bytes: Uint8Array
}

interface Queued {
  end: number
  frames: number
}

export function openQueuedEnds(): QueuedEnds {
  const streams = new Map<string, Queued>()
  const keyOf = ({ buildId, attempt, stream }: StreamKey): string => `${buildId}/${attempt}/${stream}`
  return {
    endOf: (stream) => streams.get(keyOf(stream))?.end,
    async during(frame, work) {
      const key = keyOf(frame)
      const queued = streams.get(key) ?? { end: 0, frames: 0 }
      queued.end = Math.max(queued.end, frame.offset + frame.bytes.byteLength)
      queued.frames += 1
      streams.set(key, queued)
      try {
        return await work()
      } catch (error) {
        // The frames behind this one are refused too, and no further one may follow them.
        if (streams.get(key) === queued) streams.delete(key)
        throw error
      } finally {
        queued.frames -= 1
        if (queued.frames === 0 && streams.get(key) === queued) streams.delete(key)
      }
    },
  }
}
