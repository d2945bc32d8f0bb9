/** `artifacts-downloader`: downloads the artifacts of an earlier job, and extracts them into the project. */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '@windlass/kit'
import { extractZip } from '../archive/zip.ts'
import { bodyText, RefusedTransfer, transfer, type Environment } from '../helper/transfer.ts'

export interface DownloadOptions {
  /** Base URL of GitLab. */
  readonly url: string
  /** ID of the job that made the artifacts, and its token. */
  readonly jobId: string
  readonly token: string
  readonly folder: string
  readonly env: Environment
  readonly clock: Clock
  readonly say: (line: string) => void
}

const TRIES = 3
const WAIT_MS = 1_000
const HEADERS_MS = 10 * 60_000
/** Number of redirects to the object store. */
const MAX_REDIRECTS = 3

/** Downloads and extracts the artifacts. Throws `RefusedTransfer` if they do not exist or may not be read, and the last error after all tries. */
export async function downloadArtifacts(options: DownloadOptions): Promise<void> {
  const { folder, say, clock } = options
  const work = mkdtempSync(join(tmpdir(), 'artifacts-'))
  const file = join(work, 'artifacts.zip')
  try {
    for (let n = 1; ; n += 1) {
      try {
        const status = await fetchArchive(options, file, n === 1)
        say(`Downloading artifacts from coordinator... ok        id=${options.jobId} responseStatus=${status}`)
        break
      } catch (error) {
        const isFinal = error instanceof RefusedTransfer && [401, 403, 404].includes(error.status)
        if (isFinal || n >= TRIES) throw error
        say(
          `WARNING: Downloading artifacts from coordinator... ${error instanceof Error ? error.message : String(error)}; trying again`,
        )
        await clock.sleep(WAIT_MS)
      }
    }
    await extractZip(file, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Downloads the archive into a file. The first try asks for the address of the object store. */
async function fetchArchive({ url, jobId, token, env }: DownloadOptions, file: string, isDirect: boolean): Promise<number> {
  const base = `${url.replace(/\/+$/, '')}/api/v4/jobs/${encodeURIComponent(jobId)}/artifacts`
  let answer = await get(isDirect ? `${base}?direct_download=true` : base, { 'JOB-TOKEN': token }, env)
  for (let n = 0; n < MAX_REDIRECTS && isRedirect(answer); n += 1) {
    const location = new URL(answer.headers.location ?? '', base).href
    answer.resume()
    // The token is for GitLab alone.
    answer = await get(location, {}, env)
  }
  const status = answer.statusCode ?? 0
  if (status !== 200) {
    const text = await bodyText(answer)
    throw new RefusedTransfer(
      status,
      `${status} ${answer.statusMessage ?? ''} ${text.replaceAll(/\s+/g, ' ').slice(0, 200)}`.trim(),
    )
  }
  const length = Number(answer.headers['content-length'] ?? Number.NaN)
  const output = createWriteStream(file)
  await pipeline(answer, output)
  if (Number.isFinite(length) && output.bytesWritten !== length)
    throw new Error(`${output.bytesWritten} of ${length} bytes arrived`)
  return status
}

const get = (url: string, headers: Readonly<Record<string, string>>, env: Environment): Promise<IncomingMessage> =>
  transfer({ method: 'GET', url, headers, timeoutMs: HEADERS_MS }, env)

function isRedirect({ statusCode = 0, headers }: IncomingMessage): boolean {
  return [301, 302, 303, 307, 308].includes(statusCode) && headers.location !== undefined
}
