/** Responses that are written piece by piece, on a hijacked fastify reply. */
import type { FastifyReply } from 'fastify'
import { fault } from '@windlass/kit'
import type { App } from '../app.ts'

export interface Outlet {
  /**
   * Resolves when the reader can accept more data or has disconnected. At most one piece is buffered in memory. Throws `unavailable` and disconnects
   * the reader if it accepts no data for `stallMs`.
   */
  write(data: string | Uint8Array): Promise<void>
  end(): void
}

type Raw = FastifyReply['raw']

/** Maximum size of a piece. Each accepted piece restarts the stall timeout, so a slow reader has time for a large item. */
const WRITE_BYTES = 65_536

export interface EventStream extends Outlet {
  /** True once the stream is older than `lifeMs`. */
  isOld(): boolean
}

/** Hijacks the reply and sends the head of a stream of server-sent events. The caller must call `end()`. */
export function openEventStream(app: Pick<App, 'clock' | 'readers'>, reply: FastifyReply, signal: AbortSignal): EventStream {
  const { clock, readers } = app
  const endsAt = clock.monotonic() + readers.limits.lifeMs
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
  return { ...openOutlet(app, reply, { status: 200, headers, signal }), isOld: () => clock.monotonic() >= endsAt }
}

interface Head {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Aborted when the reader disconnects or the server closes. */
  readonly signal: AbortSignal
}

/** Hijacks the reply and sends its head. The caller must call `end()`. */
export function openOutlet({ clock, readers }: Pick<App, 'clock' | 'readers'>, reply: FastifyReply, head: Head): Outlet {
  reply.hijack()
  const { raw } = reply
  const id = reply.getHeader('x-request-id')
  raw.writeHead(head.status, { ...head.headers, ...(typeof id === 'string' && { 'x-request-id': id }) })
  raw.flushHeaders()
  raw.socket?.setNoDelay(true)
  return {
    async write(data) {
      if (typeof data === 'string' && data.length < WRITE_BYTES / 4) return waitForDrain(raw.write(data))
      const bytes = typeof data === 'string' ? Buffer.from(data) : data
      for (let at = 0; at < bytes.byteLength; at += WRITE_BYTES)
        await waitForDrain(raw.write(bytes.subarray(at, at + WRITE_BYTES)))
    },
    end: () => void raw.end(),
  }

  async function waitForDrain(canWrite: boolean): Promise<void> {
    if (canWrite || head.signal.aborted || raw.destroyed) return
    const over = new AbortController()
    const isStalled = await Promise.race([drained(raw, head.signal, over.signal), stalled(over.signal)])
    over.abort(OVER)
    if (!isStalled) return
    raw.destroy()
    throw fault('unavailable', { message: `The reader accepted no data for ${readers.limits.stallMs} ms.` })
  }

  function stalled(signal: AbortSignal): Promise<boolean> {
    return clock.sleep(readers.limits.stallMs, signal).then(
      () => true,
      () => false,
    )
  }
}

/** Shared abort reason: creating an error with its stack for every wait would be expensive. */
const OVER = new DOMException('the wait is over', 'AbortError')

/** Resolves with false when the buffer has drained or the reader has disconnected. `over` ends the wait. */
function drained(raw: Raw, gone: AbortSignal, over: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const done = (): void => resolve(false)
  raw.once('drain', done)
  raw.once('close', done)
  gone.addEventListener('abort', done, { once: true, signal: over })
  over.addEventListener(
    'abort',
    () => {
      raw.off('drain', done)
      raw.off('close', done)
    },
    { once: true },
  )
  return promise
}
