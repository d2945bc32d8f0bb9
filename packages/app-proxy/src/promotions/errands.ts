/** Claims errands of the control plane with the token of the runtime, carries them out, and reports each until the control plane has its result. */
import { errandCalls, type ErrandCalls } from '@windlass/client/app-proxy'
import { FORGE_APIS, type RepositoryPlace } from '@windlass/forges'
import { attempt, backoffMs, defined, fault, isFault, type Clock, type Logger } from '@windlass/kit'
import {
  ErrandWork,
  type Client,
  type ContainsErrand,
  type Errand,
  type ErrandResult,
  type LastChangeErrand,
  type StatusErrand,
} from '@windlass/protocol'
import type { Comparisons } from '../argo/comparisons.ts'
import { readList } from '../forge/browse.ts'
import type { ForgeSession } from '../forge/session.ts'
import { folderOf, promote, type Promoting } from './promote.ts'
import { readPull } from './pulls.ts'

/** How long a call is held. Milliseconds. */
const HELD_MS = 20_000
/** The answer of a held call can take this much longer. Milliseconds. */
const SLACK_MS = 10_000
const RETRY = { baseMs: 1_000, maxMs: 30_000 }
/** Errands at once. Each has a process of git. */
const AT_ONCE = 4
/** Tries of a report. After them the control plane hands out the errand again. */
const MAX_REPORTS = 8
const MAX_MESSAGE = 2_000

export interface ErrandOptions extends Promoting {
  /** Of the control plane, without a token. */
  readonly client: Client
  readonly comparisons: Comparisons
  readonly runtimeToken: () => string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Does errands until the signal is aborted, then waits for those in progress. */
export async function errandLoop(options: ErrandOptions): Promise<void> {
  const { client, runtimeToken, log, signal } = options
  const open = new Set<Promise<void>>()
  for (let failures = 0; !signal.aborted;) {
    const calls = errandCalls(client.withToken(runtimeToken()))
    try {
      const { errands } = await calls.claim(
        { room: AT_ONCE - open.size, waitMs: HELD_MS },
        { signal, timeoutMs: HELD_MS + SLACK_MS },
      )
      failures = 0
      for (const errand of errands) {
        const done = carryOut(options, calls, errand).finally(() => open.delete(done))
        open.add(done)
      }
      if (open.size >= AT_ONCE) await Promise.race(open)
    } catch (error) {
      if (signal.aborted) break
      failures += 1
      // A server of an earlier version has no errands.
      const isOld = isFault(error, 'not-found', 'not-supported')
      if (failures === 1) log.warn({ err: error }, 'no errands can be claimed')
      await pause(options, isOld ? RETRY.maxMs : backoffMs(RETRY, failures))
    }
  }
  await Promise.all(open)
}

async function carryOut(options: ErrandOptions, calls: ErrandCalls, { id, leaseMs, work }: Errand): Promise<void> {
  const { log, signal } = options
  // After the lease another app-proxy may do it.
  const limit = AbortSignal.any([signal, AbortSignal.timeout(leaseMs)])
  const result = await perform(options, work, limit)
  if (result === undefined) return
  // A process that stops says so once, so that another one can go on at once.
  log.info({ errand: id, kind: work.kind, result: result.kind }, 'errand done')
  for (let tries = 1; tries <= MAX_REPORTS; tries += 1) {
    const answer = await attempt(log, 'report of an errand', () => calls.report(id, { result }))
    if (answer !== undefined || signal.aborted) return
    await pause(options, backoffMs(RETRY, tries))
  }
}

/** Waits, at most until the process stops. */
async function pause({ clock, signal }: ErrandOptions, ms: number): Promise<void> {
  await clock.sleep(ms, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}

/** Returns undefined if the lease has ended: the errand was handed out again then. */
async function perform(options: ErrandOptions, given: Errand['work'], signal: AbortSignal): Promise<ErrandResult | undefined> {
  try {
    const { data: work } = ErrandWork.safeParse(given)
    if (work === undefined)
      return {
        kind: 'failed',
        code: 'not-supported',
        message: `The app-proxy does not know how to do "${given.kind}".`,
        hint: 'Upgrade the GitOps runtime.',
        mayRetry: false,
      }
    return await carry(options, work, signal)
  } catch (error) {
    if (options.signal.aborted) return STOPPED
    if (signal.aborted) return undefined
    if (!isFault(error)) options.log.error({ err: error }, 'bug in an errand')
    return toFailure(error)
  }
}

const STOPPED: ErrandResult = { kind: 'failed', code: 'unavailable', message: 'The app-proxy has stopped.', mayRetry: true }

/** Faults that can be over later although they are not marked so for users. */
const TRANSIENT = ['git-conflict', 'forge-unreachable', 'rate-limited', 'unavailable', 'storage-full'] as const

function toFailure(error: unknown): ErrandResult {
  if (!isFault(error))
    return { kind: 'failed', code: 'internal', message: 'The app-proxy failed to do this. See its log.', mayRetry: true }
  const { code, message, hint, retryable } = error
  const mayRetry = retryable || isFault(error, ...TRANSIENT)
  return { kind: 'failed', code, message: message.slice(0, MAX_MESSAGE), hint: hint?.slice(0, MAX_MESSAGE), mayRetry }
}

/** Pages of each history that are searched for a commit. */
const MAX_PAGES = 5

/** Returns true if the history of a folder at a commit has another commit. */
async function contains({ forges }: ErrandOptions, { place, commit }: ContainsErrand, signal: AbortSignal): Promise<boolean> {
  const { session, repo } = await forges.open(place.repo, signal)
  const path = folderOf(place.path)
  if (await isInHistory(session, { repo, ref: place.revision, path }, commit)) return true
  // The history of a folder leaves out the merge of a pull request.
  return path !== '' && isInHistory(session, { repo, ref: place.revision, path: '' }, commit)
}

async function isInHistory(session: ForgeSession, place: RepositoryPlace, commit: string): Promise<boolean> {
  const listing = session.browser.commits(place)
  let cursor: string | undefined
  for (let pages = 1; pages <= MAX_PAGES; pages += 1) {
    const page = await readList(session, listing, cursor)
    if (page.items.some(({ revision }) => revision === commit)) return true
    if (page.cursor === undefined) return false
    cursor = page.cursor
  }
  return false
}

/** Returns the last commit that changed a folder. Throws `request-invalid` if the folder has no history. */
async function lastChange({ forges }: ErrandOptions, { place }: LastChangeErrand, signal: AbortSignal): Promise<ErrandResult> {
  const { session, repo } = await forges.open(place.repo, signal)
  const path = folderOf(place.path)
  const { items } = await readList(session, session.browser.commits({ repo, ref: place.revision, path }), undefined)
  const [last] = items
  if (last === undefined)
    throw fault('request-invalid', { message: `The folder "${place.path}" of "${repo}" has no commit at ${place.revision}.` })
  return { kind: 'last-change', revision: last.revision, message: last.message.slice(0, MAX_MESSAGE) }
}

/** Sets a commit status. One that the commit has already is a success. */
async function setStatus({ forges }: ErrandOptions, work: StatusErrand, signal: AbortSignal): Promise<ErrandResult> {
  const session = await forges.openIntegration(work.integration, signal)
  const api = FORGE_APIS[session.integration.provider]
  await session.change({ method: 'POST', ...api.status(work) }, (answer) => api.hasStatus?.(answer) === true)
  return { kind: 'status' }
}

async function carry(options: ErrandOptions, work: ErrandWork, signal: AbortSignal): Promise<ErrandResult> {
  switch (work.kind) {
    case 'promote': {
      const result = await promote(options, work, signal)
      // Also after a commit of an earlier call, whose process may have ended before it asked.
      if (result.pull === undefined) await options.comparisons.ofRepository(work.target.repo, result.revision)
      return result
    }
    case 'pull': {
      const { session, repo } = await options.forges.open(work.repo, signal)
      const { state, revision } = await readPull(session, repo, work.number)
      if (state === 'merged') await options.comparisons.ofRepository(work.repo, revision)
      return { kind: 'pull', state, ...defined({ revision }) }
    }
    case 'contains':
      return { kind: 'contains', contains: await contains(options, work, signal) }
    case 'status':
      return setStatus(options, work, signal)
    case 'last-change':
      return lastChange(options, work, signal)
  }
}
