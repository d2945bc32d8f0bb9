import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'

export interface TickOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Fraction of the period by which each wait varies at random. Default: 0. */
  readonly jitter?: number
}

/** Yields immediately and then every `periodMs`. Ends without an error when the signal is aborted. */
export async function* ticks(periodMs: number, options: TickOptions): AsyncGenerator<number> {
  for (let n = 0; !options.signal.aborted; n += 1) {
    yield n
    const wait = periodMs * (1 + (options.jitter ?? 0) * (Math.random() * 2 - 1))
    await options.clock.sleep(wait, options.signal).catch(() => undefined)
  }
}

/** Runs one tick of a loop. Logs an error instead of throwing it, so that the loop continues. */
export async function attempt<T>(log: Logger, name: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!isAbort(error)) log.warn({ err: error, tick: name }, 'tick failed')
    return undefined
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || ('code' in error && error.code === 'ABORT_ERR'))
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (signal.aborted) resolve()
  else signal.addEventListener('abort', () => resolve(), { once: true })
  return promise
}

/** Returns a signal that SIGTERM or SIGINT aborts. A second SIGTERM or SIGINT exits the process. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController()
  const stop = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort(new DOMException(`stopped by ${name}`, 'AbortError'))
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  return controller.signal
}
