/** Exchanges a bootstrap credential for the build to run. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { endsWork, isFault, isRefusal, retry, type Clock } from '@windlass/kit'
import { engineCalls } from '@windlass/client/engine'
import { PROTOCOL_VERSION, VERSION, type Client, type EngineClaimed, type EngineDocumentAnswer } from '@windlass/protocol'
import type { FirstContact } from './first-contact.ts'

export interface ClaimOptions {
  /** Has the bootstrap credential. */
  readonly client: Client
  /** See `openClaimKey`. */
  readonly key: string
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Logs why there is no response. */
  readonly contact: FirstContact
}

const BACKOFF = { baseMs: 100, maxMs: 5_000 }
const HOLD_MS = 25_000

/**
 * Claims with retries until the server returns a final response. Repeating the same key is harmless, even after a restart of this process. Throws
 * the faults that end a claim, such as `claim-used`.
 */
export async function claim({ client, key, clock, signal, contact }: ClaimOptions): Promise<EngineClaimed> {
  const body = { protocol: PROTOCOL_VERSION, version: VERSION, features: [], claimKey: key }
  const onRetry = (error: unknown): void => contact.failed(error)
  return retry({ ...BACKOFF, clock, signal, retryIf: isOpen('claim'), onRetry }, () =>
    contact.watch(() => engineCalls(client).claim(body, { signal })),
  )
}

/**
 * Waits until the server has a build for this engine. Returns false if the pair is no longer needed. With `asksOnce`, also returns false if the
 * server has no build yet.
 */
export async function awaitBuild(
  { client, clock, signal, contact }: Omit<ClaimOptions, 'key'>,
  { asksOnce }: { readonly asksOnce: boolean },
): Promise<boolean> {
  const onRetry = (error: unknown): void => contact.failed(error)
  const server = engineCalls(client)
  const ask = async (waitMs: number): Promise<{ assigned: boolean }> =>
    server.wait({ waitMs }, { signal, timeoutMs: waitMs + 15_000 })
  // The first call is not held, to show whether the server is reachable even if there is no build.
  for (let isFirst = true; ; isFirst = false) {
    try {
      const { assigned } = await retry({ ...BACKOFF, clock, signal, retryIf: isOpen('claim'), onRetry }, () =>
        isFirst ? contact.watch(() => ask(0)) : ask(HOLD_MS),
      )
      if (assigned || asksOnce) return assigned
    } catch (error) {
      if (isFault(error, 'attempt-stale', 'unauthenticated')) return false
      throw error
    }
  }
}

/** Asks the server for the address of the attempt's Docker daemon until an agent has reported it. */
export async function askDockerHost(client: Client, { clock, signal }: Pick<ClaimOptions, 'clock' | 'signal'>): Promise<string> {
  const server = engineCalls(client)
  for (;;) {
    const { host } = await retry({ ...BACKOFF, clock, signal, retryIf: isOpen('attempt') }, () =>
      server.docker({ query: { waitMs: HOLD_MS }, signal, timeoutMs: HOLD_MS + 15_000 }),
    )
    if (host !== undefined) return host
    await clock.sleep(BACKOFF.baseMs, signal)
  }
}

/** Lets the server compile a document. Returns the error message if the server rejects it. Throws `attempt-stale`. */
export async function compileDocument(
  { client, clock, signal }: Pick<ClaimOptions, 'client' | 'clock' | 'signal'>,
  text: string,
): Promise<EngineDocumentAnswer> {
  const isOpenStill = isOpen('attempt')
  const retryIf = (error: unknown): boolean => isOpenStill(error) && !isRefusal(error)
  try {
    return await retry({ ...BACKOFF, clock, signal, retryIf }, () => engineCalls(client).sendDocument({ text }, { signal }))
  } catch (error) {
    // A retry would send the same document.
    if (isOpenStill(error) && isRefusal(error)) return { message: error.message }
    throw error
  }
}

/** Returns a predicate for errors after which a call is retried. Errors of this process are not. */
function isOpen(work: 'claim' | 'attempt'): (error: unknown) => boolean {
  return (error) => isFault(error) && !endsWork(work, error)
}

/** The key with which an engine claims, and whether an earlier process started in its folder. */
export interface ClaimKey {
  readonly key: string
  readonly isRestarted: boolean
}

/**
 * Reads or creates the claim key of a folder. Must be called before anything else is done in it: if the container is restarted, the agent reports
 * that the engine ended, however far it was, and the server then waits for the end of the attempt. Throws on I/O errors.
 */
export function openClaimKey(spoolDir: string): ClaimKey {
  const path = join(spoolDir, 'claim-key')
  const isRestarted = existsSync(path)
  const known = isRestarted ? readFileSync(path, 'utf8') : ''
  if (known !== '') return { key: known, isRestarted }
  mkdirSync(spoolDir, { recursive: true, mode: 0o700 })
  const key = randomBytes(16).toString('hex')
  // A process that is killed during the write leaves no partial key.
  writeFileSync(`${path}.draft`, key, { mode: 0o600 })
  renameSync(`${path}.draft`, path)
  return { key, isRestarted }
}
