/** `artifacts-downloader`: downloads the artifacts of an earlier job, and extracts them into the project. */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { extractZip } from '../archive/zip.ts'
import { bodyText, openTries, quotedText, RefusedTransfer, statusOf, transfer, type Environment } from '../helper/transfer.ts'
import { artifactsAddress, type ArtifactsCall } from './address.ts'

const HEADERS_MS = 10 * 60_000
/** Number of redirects to the object store. */
const MAX_REDIRECTS = 3

/** Downloads and extracts the artifacts. Throws `RefusedTransfer` if they do not exist or may not be read, and the last error after all tries (`openTries`). */
export async function downloadArtifacts(options: ArtifactsCall): Promise<void> {
  const { folder, say, clock } = options
  const work = mkdtempSync(join(tmpdir(), 'artifacts-'))
  const file = join(work, 'artifacts.zip')
  const tries = openTries({ what: 'Downloading artifacts from coordinator', clock, say, isFinal })
  try {
    for (let isFirst = true; ; isFirst = false) {
      try {
        const status = await fetchArchive(options, file, isFirst)
        say(`Downloading artifacts from coordinator... ok        id=${options.jobId} responseStatus=${status}`)
        break
      } catch (error) {
        await tries.failed(error)
      }
    }
    await extractZip(file, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Another status can be one of the object store, which the next try does not ask. */
const isFinal = (status: number): boolean => [401, 403, 404].includes(status)

/** Downloads the archive into a file. The first try asks for the address of the object store. */
async function fetchArchive({ token, env, ...call }: ArtifactsCall, file: string, isDirect: boolean): Promise<number> {
  const base = artifactsAddress(call).href
  let answer = await get(isDirect ? `${base}?direct_download=true` : base, { 'JOB-TOKEN': token }, env)
  for (let n = 0; n < MAX_REDIRECTS && isRedirect(answer); n += 1) {
    const location = new URL(answer.headers.location ?? '', base).href
    answer.resume()
    // The token is for GitLab alone.
    answer = await get(location, {}, env)
  }
  const { statusCode: status = 0 } = answer
  if (status !== 200) throw new RefusedTransfer(answer, `${statusOf(answer)} ${quotedText(await bodyText(answer))}`.trim())
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
