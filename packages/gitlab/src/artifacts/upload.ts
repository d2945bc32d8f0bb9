/** `artifacts-uploader`: packs files of the project, and uploads them to GitLab. */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipStream } from '../archive/gzip.ts'
import { selectFiles, type Wanted } from '../archive/select-files.ts'
import { compressionLevel, zipStream } from '../archive/zip.ts'
import { bodyText, openTries, quotedText, RefusedTransfer, statusOf, transfer } from '../helper/transfer.ts'
import { artifactsAddress, type ArtifactsCall } from './address.ts'

export interface UploadOptions extends ArtifactsCall, Wanted {
  readonly name: string
  readonly expireIn: string
  /** `zip`, `gzip`, `raw`, or empty for zip. */
  readonly format: string
  readonly type: string
  /** Milliseconds. */
  readonly timeoutMs: number
}

/** Number of servers that an upload may be sent to in turn. */
const MAX_MOVES = 5

/** Uploads the files. Throws `RefusedTransfer` for an answer that is final, and the last error after all tries (`openTries`). */
export async function uploadArtifacts(options: UploadOptions): Promise<void> {
  const { say, clock, folder } = options
  const { paths, notes } = await selectFiles(folder, options)
  for (const note of notes) say(note)
  if (paths.length === 0) {
    say('ERROR: No files to upload')
    return
  }
  const pack = packerOf(options, paths)
  let target = addressOf(options)
  const tries = openTries({ what: `Uploading artifacts as "${shownType(options)}" to coordinator`, clock, say })
  for (let moves = 0; ;) {
    const moved = await tryUpload(options, { target, pack }).catch((error: unknown) => tries.failed(error))
    if (moved === 'done') return
    if (moved === undefined) continue
    moves += 1
    if (moves > MAX_MOVES) throw new Error(`the server redirected the upload ${moves} times`)
    target = moved
  }
}

const shownType = ({ type }: UploadOptions): string => (type === '' ? 'archive' : type)

function addressOf({ expireIn, format, type, ...call }: UploadOptions): string {
  const target = artifactsAddress(call)
  for (const [key, value] of [
    ['expire_in', expireIn],
    ['artifact_format', format],
    ['artifact_type', type],
  ] as const)
    if (value !== '') target.searchParams.set(key, value)
  return target.href
}

interface Packer {
  readonly fileName: string
  readonly open: () => Readable
}

/** Throws for a format that is not known, and for a raw one with several files. */
function packerOf({ name, format, folder, env }: UploadOptions, paths: readonly string[]): Packer {
  const base = basename(name === '' ? 'default' : name)
  const level = compressionLevel(env['ARTIFACT_COMPRESSION_LEVEL'])
  if (format === '' || format === 'zip') return { fileName: `${base}.zip`, open: () => zipStream(folder, paths, level) }
  if (format === 'gzip') return { fileName: `${base}.gz`, open: () => gzipStream(folder, paths, level) }
  if (format !== 'raw') throw new Error(`the format "${format}" of artifacts is not supported; zip, gzip and raw are`)
  const [only] = paths
  if (only === undefined || paths.length > 1)
    throw new Error(`an artifact of the format raw has one file, and ${paths.length} match`)
  return { fileName: basename(only), open: () => createReadStream(join(folder, only)) }
}

/** Resolves to `done`, or to the address that the server names instead. */
async function tryUpload(
  options: UploadOptions,
  { target, pack }: { readonly target: string; readonly pack: Packer },
): Promise<string> {
  const { token, timeoutMs, env, say } = options
  const boundary = `windlass-${randomUUID()}`
  const body = (): Readable => Readable.from(form(pack, boundary))
  const headers = { 'JOB-TOKEN': token, 'Content-Type': `multipart/form-data; boundary=${boundary}` }
  const answer = await transfer({ method: 'POST', url: target, headers, body, timeoutMs }, env)
  const text = await bodyText(answer)
  const { statusCode: status = 0 } = answer
  const shown = statusOf(answer)
  if (status === 201) {
    say(`Uploading artifacts as "${shownType(options)}" to coordinator... ${shown}`)
    return 'done'
  }
  const { location } = answer.headers
  // Only another server is named: path and query stay.
  if (status === 307 && location !== undefined) return movedTo(target, location)
  const hints: Readonly<Record<number, string>> = {
    413: 'the artifacts are larger than GitLab allows',
    403: 'the token of the job is not accepted',
  }
  throw new RefusedTransfer(answer, `${shown}: ${hints[status] ?? reasonOf(text)}`)
}

function movedTo(target: string, location: string): string {
  const [from, to] = [new URL(target), new URL(location, target)]
  return new URL(`${from.pathname}${from.search}`, to.origin).href
}

/** Returns the message of the answer, which is JSON from GitLab and anything from a proxy. */
function reasonOf(text: string): string {
  const match = /"(?:message|error)"\s*:\s*"([^"]+)"/.exec(text)
  return match?.[1] ?? quotedText(text)
}

async function* form({ fileName, open }: Packer, boundary: string): AsyncGenerator<Buffer> {
  const name = fileName.replaceAll(/["\r\n\\]/g, '_')
  yield Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  )
  // Archives are streams of bytes.
  for await (const chunk of open()) yield chunk as Buffer
  yield Buffer.from(`\r\n--${boundary}--\r\n`)
}
