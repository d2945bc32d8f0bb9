/** The exchange of a bootstrap credential for what to run. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isFault, retry, type Clock } from '@windlass/kit'
import {
  DockerAddress,
  EngineClaimed,
  EngineDocumentAnswer,
  EngineWaited,
  PROTOCOL_VERSION,
  type Client,
} from '@windlass/protocol'
import { ENGINE_VERSION } from '../attempt/run.ts'

export interface ClaimOptions {
  /** Carries the bootstrap credential. */
  readonly client: Client
  readonly spoolDir: string
  readonly clock: Clock
  readonly signal: AbortSignal
}

const AWAY = { baseMs: 100, maxMs: 5_000 }
const HOLD_MS = 25_000

/** Claims until the server answers. Repeating the same key is harmless, also after a restart of this process. Throws `claim-used` and the like. */
export async function claim({ client, spoolDir, clock, signal }: ClaimOptions): Promise<EngineClaimed> {
  const body = { protocol: PROTOCOL_VERSION, version: ENGINE_VERSION, features: [], claimKey: claimKey(spoolDir) }
  return retry({ ...AWAY, clock, signal, retryIf: isPassing }, () =>
    client.call('POST', '/v1/engine/claim', EngineClaimed, { body, signal }),
  )
}

/** Waits until the server has a build for this engine; false when it has none any more, and the pair is to go. */
export async function awaitBuild({ client, clock, signal }: Pick<ClaimOptions, 'client' | 'clock' | 'signal'>): Promise<boolean> {
  for (;;) {
    try {
      const { assigned } = await retry({ ...AWAY, clock, signal, retryIf: isPassing }, () =>
        client.call('POST', '/v1/engine/wait', EngineWaited, {
          body: { waitMs: HOLD_MS },
          signal,
          timeoutMs: HOLD_MS + 15_000,
        }),
      )
      if (assigned) return true
    } catch (error) {
      if (isFault(error, 'attempt-stale', 'unauthenticated')) return false
      throw error
    }
  }
}

/** Asks the server for the address of the attempt's Docker daemon until an agent has told it. */
export async function askDockerHost(client: Client, { clock, signal }: Pick<ClaimOptions, 'clock' | 'signal'>): Promise<string> {
  for (;;) {
    const { host } = await retry({ ...AWAY, clock, signal, retryIf: isPassing }, () =>
      client.call('GET', '/v1/engine/docker', DockerAddress, { query: { waitMs: HOLD_MS }, signal, timeoutMs: HOLD_MS + 15_000 }),
    )
    if (host !== undefined) return host
    await clock.sleep(AWAY.baseMs, signal)
  }
}

/** Lets the server compile a document that was fetched for it. Throws `attempt-stale`. */
export async function compileDocument(
  { client, clock, signal }: Pick<ClaimOptions, 'client' | 'clock' | 'signal'>,
  text: string,
): Promise<EngineDocumentAnswer> {
  return retry({ ...AWAY, clock, signal, retryIf: isPassing }, () =>
    client.call('POST', '/v1/engine/document', EngineDocumentAnswer, { body: { text }, signal }),
  )
}

function isPassing(error: unknown): boolean {
  return isFault(error) && error.retryable
}

function claimKey(spoolDir: string): string {
  const path = join(spoolDir, 'claim-key')
  if (existsSync(path)) return readFileSync(path, 'utf8')
  mkdirSync(spoolDir, { recursive: true, mode: 0o700 })
  const key = randomBytes(16).toString('hex')
  writeFileSync(path, key, { mode: 0o600 })
  return key
}
