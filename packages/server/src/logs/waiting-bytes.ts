/** Limit of the bytes of frames that wait for the log storage, per attempt. */
import { fault } from '@windlass/kit'

/** More than the frames that an engine has in flight, because it repeats them if the answer is late. */
const MAX_ATTEMPT_BYTES = 8_388_608

export interface WaitingBytes {
  /** Runs `work` while it counts the bytes of its frame. Throws `rate-limited` if too many frames of the attempt wait. */
  during<T>(frame: WaitingFrame, work: () => Promise<T>): Promise<T>
}

interface WaitingFrame {
  readonly buildId: string
  readonly attempt: number
  readonly bytes: Uint8Array
}

export function openWaitingBytes(): WaitingBytes {
  const counts = new Map<string, number>()
  return {
    async during({ buildId, attempt, bytes: { byteLength } }, work) {
      const key = `${buildId}/${attempt}`
      const bytes = (counts.get(key) ?? 0) + byteLength
      if (bytes > MAX_ATTEMPT_BYTES)
        throw fault('rate-limited', { message: 'Too many frames of this attempt wait for the log storage.', retryAfter: 1 })
      counts.set(key, bytes)
      try {
        return await work()
      } finally {
        const rest = (counts.get(key) ?? 0) - byteLength
        if (rest > 0) counts.set(key, rest)
        else counts.delete(key)
      }
    },
  }
}
