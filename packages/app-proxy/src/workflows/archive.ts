/**
 * The archive of workflow logs: a bucket of S3 or a compatible store, into which Argo Workflows writes the logs of pods that have ended. The operator of the runtime names the store and its
 * credentials. Nothing of a workflow decides which host is called.
 */
import { readFile } from 'node:fs/promises'
import { readXmlError, signAws, type AwsCredentials } from '@windlass/cloud'
import {
  fault,
  nodeTransport,
  orFault,
  readText,
  sha256,
  type Fault,
  type ProxySettings,
  type TransportResponse,
} from '@windlass/kit'
import { MAX_LOG_BYTES, type ContainerLog } from '@windlass/protocol'
import { openSlots } from '../http/slots.ts'
import { newestLines } from '../log/newest-lines.ts'
import { inOrder, lastLines } from './log-lines.ts'

/** Bytes at the end of a log that are read: more than the text of one answer. */
const MAX_BYTES = 2 * MAX_LOG_BYTES
const MAX_ERROR_BYTES = 65_536
const CONNECT_MS = 5_000
const TIMEOUT_MS = 30_000
/** Logs that are read at once, by all callers. Each takes three times `MAX_BYTES` of memory. */
const READS = { limit: 3, waiting: 20, of: 'archived logs' }

export interface LogArchiveOptions {
  /** Scheme, host and port of the store. */
  readonly url: string
  readonly bucket: string
  readonly region: string
  /** Begin of all keys of the runtime, without a slash at its end. */
  readonly prefix: string
  /** Files with the keys of the account at the store. They are read for each call, so that replaced keys need no restart. */
  readonly accessKeyFile: string
  readonly secretKeyFile: string
  readonly proxy: ProxySettings
}

interface ReadOptions {
  readonly pod: string
  readonly tail: number
}

export interface LogArchive {
  readonly prefix: string
  /**
   * Returns the last lines of the log at a key, without their times; undefined if there is none. Throws `archive-unreachable` and `archive-refused`, and `rate-limited` if too many logs are
   * read. The key has to be a checked one.
   */
  read(key: string, options: ReadOptions): Promise<ContainerLog | undefined>
}

/** Opens the archive; sends nothing yet. */
export function openLogArchive({ url, bucket, region, prefix, proxy, ...files }: LogArchiveOptions): LogArchive {
  const transport = nodeTransport({ connectMs: CONNECT_MS, proxy })
  const slots = openSlots(READS)

  async function get(key: string): Promise<TransportResponse> {
    const address = new URL(url)
    address.pathname = [bucket, ...key.split('/')].map(encodeURIComponent).join('/')
    const plain = { range: `bytes=-${MAX_BYTES}`, 'x-amz-content-sha256': sha256('') }
    const call = { method: 'GET', url: address.href }
    const headers = await signAws(
      { ...call, headers: plain },
      { credentials: await readCredentials(files), service: 's3', region },
    )
    return transport({ ...call, headers, timeoutMs: TIMEOUT_MS })
  }

  async function readOne(key: string, { pod, tail }: ReadOptions): Promise<ContainerLog | undefined> {
    const answer = await get(key)
    if (answer.status !== 206) return withoutLog(answer)
    // Another start than 0 is in the middle of a line.
    const isPart = answer.headers['content-range']?.startsWith('bytes 0-') !== true
    const lines = lastLines(await readAll(answer.body), { pod, isPart, tail })
    const log = await newestLines(inOrder(lines), tail)
    return isPart ? { ...log, isCut: true } : log
  }

  return {
    prefix,
    async read(key, options) {
      const leave = await slots.enter()
      try {
        return await orFault(() => readOne(key, options), {
          signal: undefined,
          toFault: (why, cause) => unreachable(`does not answer: ${why}`, cause),
        })
      } finally {
        leave()
      }
    },
  }
}

type Files = Pick<LogArchiveOptions, 'accessKeyFile' | 'secretKeyFile'>

async function readCredentials({ accessKeyFile, secretKeyFile }: Files): Promise<AwsCredentials> {
  try {
    const [accessKeyId, secretAccessKey] = await Promise.all(
      [accessKeyFile, secretKeyFile].map(async (file) => (await readFile(file, 'utf8')).trim()),
    )
    return { accessKeyId: accessKeyId ?? '', secretAccessKey: secretAccessKey ?? '' }
  } catch (error) {
    throw fault('archive-refused', { message: 'The keys for the archive of workflow logs cannot be read.' }, error)
  }
}

/** Reads a body to its end. A store could send more than it was asked for. */
async function readAll(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.byteLength
    if (bytes > MAX_BYTES) throw fault('archive-refused', { message: `The archive sent more than ${MAX_BYTES} bytes of a log.` })
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/**
 * Returns an empty log, or undefined if there is none. Throws for every other answer. A success has the status 206, because every call has a range; what has another form than an error
 * of S3 is the page of something on the way.
 */
async function withoutLog({ status, body, disconnect }: TransportResponse): Promise<ContainerLog | undefined> {
  const foreign = (): Fault => unreachable(`answered with status ${status}`)
  if (status < 300) {
    disconnect()
    throw foreign()
  }
  const { code } = readXmlError(await readText(body, MAX_ERROR_BYTES, foreign))
  if (!/^[A-Z][A-Za-z]{1,60}$/.test(code) || status === 429 || status >= 500) throw foreign()
  if (code === 'NoSuchKey') return undefined
  if (code === 'InvalidRange') return { items: [] }
  // The message of the store can name accounts, so only its code is passed on.
  throw fault('archive-refused', {
    message: `The archive of workflow logs answered ${code}.`,
    ...(code === 'AccessDenied' && { hint: DENIED }),
  })
}

function unreachable(what: string, cause?: unknown): Fault {
  const hint = 'Retry, or name a pod that exists. If the error persists, check the network from the runtime to its S3 store.'
  return fault('archive-unreachable', { message: `The archive of workflow logs ${what}.`, hint }, cause)
}

const DENIED =
  'Allow s3:GetObject, and s3:ListBucket: without it some stores say the same of a log that is not there, such as one whose time in the bucket is over.'
