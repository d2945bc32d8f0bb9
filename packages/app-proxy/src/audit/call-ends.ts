/**
 * The ends of calls that the control plane has not taken yet, each in a file: a container that is killed reports them when it runs again. Reports are repeated until they are taken; the
 * control plane takes each end once.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { callEndCalls } from '@windlass/client/app-proxy'
import { backoffMs, fault, isFault, isId, writePrivateFile, type Clock, type FaultCode, type Logger } from '@windlass/kit'
import { parseJson } from '@windlass/kit/json'
import { GitopsCallEnd, type Client } from '@windlass/protocol'

/** Ends that wait at once. A call needs the control plane before it begins, so more than a few mean that only the reports fail. */
const MAX_WAITING = 1_000
const RETRY = { baseMs: 500, maxMs: 30_000 }
const REPORT_MS = 10_000
/** Time for the last reports of a process that stops. The others are in their files. Milliseconds. */
const LAST_MS = 2_000

export interface CallEnds {
  /** Throws `unavailable` while too many ends wait. */
  requireRoom(): void
  /** Keeps the end of a call, and reports it. */
  add(id: string, end: GitopsCallEnd): void
  /** Waits a moment for the reports in progress. Those that fail are repeated by the next process. */
  close(): Promise<void>
}

export interface CallEndsOptions {
  /** Of the control plane, without a token. */
  readonly client: Client
  readonly runtimeToken: () => string
  /** Kept over restarts of the container. */
  readonly folder: string
  readonly clock: Clock
  readonly log: Logger
}

/** Opens the folder, and reports what an earlier process has left there. */
export function openCallEnds({ client, runtimeToken, folder, clock, log }: CallEndsOptions): CallEnds {
  const closing = new AbortController()
  const waiting = new Map<string, Promise<void>>()
  const fileOf = (id: string): string => join(folder, `${id}.json`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })

  async function send(id: string, end: GitopsCallEnd): Promise<void> {
    const calls = callEndCalls(client.withToken(runtimeToken()))
    const options = { timeoutMs: REPORT_MS, signal: closing.signal }
    const { hasEffect, ...known } = end
    await calls.end(id, end, options).catch((error: unknown) => {
      // A control plane of an earlier version does not know this field, and refuses the end for it.
      if (hasEffect === undefined || !isRefused(error, 'request-invalid')) throw error
      return calls.end(id, known, options)
    })
  }

  /** Returns true once the control plane has the end, or will never take it. */
  async function isSettled(id: string, end: GitopsCallEnd): Promise<boolean> {
    try {
      await send(id, end)
      return true
    } catch (error) {
      if (isRefused(error, 'not-found', 'not-supported', 'request-invalid')) {
        log.warn({ err: error, call: id, ...end }, 'the control plane does not take the end of a call for its audit log')
        return true
      }
      return false
    }
  }

  async function report(id: string, end: GitopsCallEnd): Promise<void> {
    for (let tries = 1; !(await isSettled(id, end)); tries += 1) {
      if (tries === 1) log.warn({ call: id }, 'the end of a call is not in the audit log of the control plane yet')
      await clock.sleep(backoffMs(RETRY, tries), closing.signal).catch(() => undefined)
      if (closing.signal.aborted) return
    }
    rmSync(fileOf(id), { force: true })
  }

  function start(id: string, end: GitopsCallEnd): void {
    waiting.set(
      id,
      report(id, end).finally(() => waiting.delete(id)),
    )
  }

  for (const name of readdirSync(folder)) {
    const id = name.replace(/\.json$/, '')
    const found = isId(id) ? parseJson(readFileSync(join(folder, name), 'utf8')) : undefined
    const end = GitopsCallEnd.safeParse(found).data
    if (end !== undefined) start(id, end)
    // An app-proxy of the version that wrote it can report it.
    else if (found !== undefined) log.warn({ call: id }, 'the end of a call is of another version of the app-proxy; it is kept')
    // A draft of a process that was killed.
    else rmSync(join(folder, name), { force: true })
  }

  return {
    requireRoom() {
      if (waiting.size >= MAX_WAITING)
        throw fault('unavailable', {
          message: `The audit log of the control plane does not have the ends of ${waiting.size} calls yet, so no other call can change something.`,
        })
    },
    add(id, end) {
      try {
        writePrivateFile(fileOf(id), JSON.stringify(end))
      } catch (error) {
        // The report follows at once, and a call without an end has a record too.
        log.warn({ err: error, call: id }, 'the end of a call cannot be kept')
      }
      start(id, end)
    },
    async close() {
      await Promise.race([Promise.all(waiting.values()), clock.sleep(LAST_MS, closing.signal)])
      closing.abort()
      await Promise.all(waiting.values())
    },
  }
}

/** Returns true for one of these faults, unless a proxy in front of the control plane has answered. */
function isRefused(error: unknown, ...codes: FaultCode[]): boolean {
  return isFault(error, ...codes) && error.details.foreign !== true
}
