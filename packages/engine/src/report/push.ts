/**
 * Pushes the measurements of an engine to a collector of OpenTelemetry: regularly, and once when the engine ends. A collector that does not answer costs the
 * build nothing.
 */
import { hideLogin, nodeTransport, type Clock, type Logger } from '@windlass/kit'
import type { Measurements } from './measurements.ts'
import { toOtlp } from './otlp.ts'
import type { OtlpSettings } from './otlp-settings.ts'

export interface PushOptions {
  readonly settings: OtlpSettings
  readonly clock: Clock
  readonly log: Logger
}

export interface Push {
  /** Sends the last measurements. Gives up after `LAST_MS`. */
  close(): Promise<void>
}

/** How long the last measurements may take. The pod of the engine goes on for that long, and the build does not. Milliseconds. */
const LAST_MS = 3_000
const RETRY_MS = 300

/** Pushes until closed. Throws `config-invalid` if the certificates or proxies are not valid. */
export function startPush(measurements: Pick<Measurements, 'read' | 'since'>, { settings, clock, log }: PushOptions): Push {
  const { url, headers, intervalMs, timeoutMs, resource, caFile } = settings
  const transport = nodeTransport({ caFile, maxSockets: 1 })
  const closing = new AbortController()
  let hasFailed = false

  /** Returns true if the collector has the measurements, or there are none. */
  async function send(limitMs: number, signal?: AbortSignal): Promise<boolean> {
    const found = measurements.read()
    if (found.length === 0) return true
    const now = clock.now()
    const body = toOtlp(found, resource, { since: measurements.since() ?? now, now })
    try {
      const { status, disconnect } = await transport({
        method: 'POST',
        url,
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        signal,
        timeoutMs: limitMs,
      })
      // Nothing of the answer is used.
      disconnect()
      if (status >= 300) throw new Error(`the collector answered ${status}`)
      hasFailed = false
      return true
    } catch (error) {
      // Once, until it works again. The next push has all values.
      if (!hasFailed && signal?.aborted !== true)
        log.warn({ err: error, url: hideLogin(url) }, 'the metrics of the build cannot be pushed')
      hasFailed ||= signal?.aborted !== true
      return false
    }
  }

  async function run(): Promise<void> {
    for (;;) {
      await clock.sleep(intervalMs, closing.signal)
      await send(timeoutMs, closing.signal)
    }
  }

  async function sendLast(): Promise<void> {
    const until = clock.monotonic() + LAST_MS
    for (let left = LAST_MS; left > 0 && !(await send(Math.min(left, timeoutMs))); left = until - clock.monotonic())
      await clock.sleep(RETRY_MS)
  }

  const running = run().catch(() => undefined)
  return {
    async close() {
      // Also ends a push that is under way, which would send older values.
      closing.abort()
      await running
      await sendLast()
    },
  }
}
