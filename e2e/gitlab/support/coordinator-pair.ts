/** A fake coordinator with a client for it, and helpers for tests with a manual clock. */
import { onTestFinished } from 'vitest'
import { manualClock, type Clock, type Logger, type ManualClock } from '@windlass/kit'
import { startFakeCoordinator, type FakeCoordinator, type FakeCoordinatorOptions } from './fake-coordinator.ts'
import { openCoordinator, type Coordinator, type CoordinatorOptions } from '../../../packages/gitlab/src/coordinator/client.ts'

export interface LogLine {
  readonly level: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

/** A log that keeps its lines. */
export function keptLog(
  lines: LogLine[] = [],
  bound: Readonly<Record<string, unknown>> = {},
): Logger & { readonly lines: LogLine[] } {
  const keep =
    (level: string) =>
    (fields: unknown, message?: unknown): void =>
      void lines.push({
        level,
        fields: { ...bound, ...(typeof fields === 'object' ? fields : {}) },
        message: String(message ?? fields),
      })
  return {
    lines,
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
    fatal: keep('fatal'),
    child: (more) => keptLog(lines, { ...bound, ...more }),
  }
}

export const TOKEN = 'glrt-t1_abcdefghijklmnop'

/** Starts a fake coordinator and a client for it. Both end with the test. */
export async function openPair(
  options: FakeCoordinatorOptions & { readonly clock?: Clock; readonly client?: Partial<CoordinatorOptions> } = {},
): Promise<{ readonly fake: FakeCoordinator; readonly client: Coordinator; readonly log: ReturnType<typeof keptLog> }> {
  const fake = await startFakeCoordinator(options)
  const log = keptLog()
  const client = openCoordinator({
    url: fake.url,
    token: TOKEN,
    userAgent: 'windlass 1.2.3 (test)',
    log,
    clock: options.clock ?? manualClock(),
    ...options.client,
  })
  onTestFinished(async () => {
    client.close()
    await fake.close()
  })
  return { fake, client, log }
}

export interface CountingClock extends ManualClock {
  /** Number of sleeps in progress. */
  readonly sleeping: number
}

/** Returns a manual clock that counts sleeps. A single loop that does not sleep is waiting for I/O. */
export function countingClock(): CountingClock {
  const clock = manualClock()
  let sleeping = 0
  return {
    ...clock,
    get sleeping() {
      return sleeping
    },
    async sleep(ms, signal) {
      sleeping += 1
      try {
        await clock.sleep(ms, signal)
      } finally {
        sleeping -= 1
      }
    },
  }
}

/** Real time after which a check has failed. Milliseconds. */
const PATIENCE_MS = 60_000

/**
 * Advances the clock in steps until the check passes. Between two steps pending I/O has its turn. A counting clock only advances while something sleeps,
 * so that no time passes during I/O, however slow the machine is.
 */
export async function advanceUntil(clock: ManualClock | CountingClock, stepMs: number, check: () => boolean): Promise<void> {
  const startedAt = performance.now()
  while (!check()) {
    if (performance.now() - startedAt > PATIENCE_MS) throw new Error('the check did not pass in time')
    await new Promise((resolve) => setImmediate(resolve))
    if (!('sleeping' in clock) || clock.sleeping > 0) clock.advance(stepMs)
  }
}

/** Gives pending I/O some turns, for checks that something does not happen. */
export async function turns(count = 200): Promise<void> {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve))
}
