/** Logs why the engine is waiting until the server has responded once: before that, its log is all that a user can see. */
import { explainUnreachable, isFault, type Clock, type Logger } from '@windlass/kit'

export interface FirstContactOptions {
  /** Base URL of the server. */
  readonly url: string
  readonly clock: Clock
  readonly log: Logger
}

export interface FirstContact {
  /** Makes a call that should return within seconds, and logs if it hangs. */
  watch<T>(call: () => Promise<T>): Promise<T>
  /** Logs a failed call that will be retried. */
  failed(error: unknown): void
}

/** A call without a response is logged after this time. Milliseconds. */
const SILENT_MS = 3_000
/** The first failure is logged at once, the next ones after 5 s, 10 s, 20 s, up to 5 minutes. Milliseconds. */
const RETRY_MS = 5_000
const MAX_RETRY_MS = 300_000

export function openFirstContact({ url, clock, log }: FirstContactOptions): FirstContact {
  const began = clock.monotonic()
  let loggedAt = -Infinity
  let everyMs = RETRY_MS / 2
  let wasLogged = false

  function warn(what: string, hint: string): void {
    const now = clock.monotonic()
    if (now - loggedAt < everyMs) return
    loggedAt = now
    everyMs = Math.min(everyMs * 2, MAX_RETRY_MS)
    wasLogged = true
    const seconds = Math.round((now - began) / 1000)
    log.warn({ url, seconds }, `The server at ${url} ${what}. ${hint}`)
  }

  async function warnOfSilence(signal: AbortSignal): Promise<void> {
    await clock.sleep(SILENT_MS, signal)
    warn(
      `cannot be reached: no answer within ${SILENT_MS / 1000} s`,
      'The engine keeps trying. Check DNS, firewalls and proxies between the pods and the server.',
    )
  }

  return {
    async watch(call) {
      const over = new AbortController()
      warnOfSilence(over.signal).catch(() => undefined)
      try {
        const answer = await call()
        if (wasLogged) log.info({ url }, `The server at ${url} answers.`)
        wasLogged = false
        return answer
      } finally {
        over.abort()
      }
    },
    failed(error) {
      if (isFault(error) && error.details.foreign === true)
        return warn(
          `does not answer, but something else does at this address: ${error.message.replace(/\.$/, '')}`,
          'The engine keeps trying. Check that the address leads to the Windlass server, also through proxies and gateways.',
        )
      if (isFault(error) && error.code !== 'server-unreachable')
        return warn(`does not accept the engine: ${error.message.replace(/\.$/, '')}`, error.hint ?? 'The engine keeps trying.')
      const { cause, hint } = explainUnreachable(error, url)
      warn(`cannot be reached: ${cause}`, hint)
    },
  }
}
