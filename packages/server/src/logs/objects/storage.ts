/** The place of all logs of a database: a folder or a bucket, chosen by a URL. */
import { mkdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { awsCredentials } from '@windlass/cloud'
import { fault, hasCode, writePrivateFile, type Clock } from '@windlass/kit'
import { diskObjects, type Objects } from './objects.ts'
import { rememberRecent } from './recent-objects.ts'
import { keyOf, nameOf, parseS3Url } from '../s3/address.ts'
import { requireUsableS3 } from '../s3/check.ts'
import { openS3, type S3, type S3Limits } from '../s3/client.ts'
import { getObject } from '../s3/get-object.ts'
import { orUnavailable, s3Objects } from '../s3/objects.ts'

export interface LogStorage {
  /** For messages: `folder /var/lib/windlass/logs` or `bucket s3://logs/windlass`. */
  readonly name: string
  /** The folder of the objects; undefined in S3. */
  readonly folder: string | undefined
  readonly objects: Objects
  /** Where the mark of the database is; for messages. */
  readonly markName: string
  /** Reads the mark that ties the storage to a database. Returns undefined if there is none. */
  readMark(): Promise<string | undefined>
  /** Writes the mark. Keeps an existing one. */
  writeMark(mark: string): Promise<void>
}

export interface StorageOptions {
  readonly dataDir: string
  /** A folder, `file:///folder` or `s3://bucket/prefix`. Default: `logs` in the data folder. */
  readonly logsUrl?: string | undefined
  /** Environment of the process, for credentials of clouds. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  readonly clock: Clock
  readonly s3Limits?: Partial<S3Limits> | undefined
}

/** Name of the file or object that ties the storage to a database. */
export const MARK_NAME = '.log-folder'
const MAX_MARK_BYTES = 1_024
/** Memory for objects that this server has just written, which its followers read next. Bytes. */
const RECENT_BYTES = 16_777_216

/**
 * Opens the storage and checks that it can be used. Throws `config-invalid` if the URL is not valid or the store refuses this server, and `unavailable`
 * if the store does not answer.
 */
export async function openLogStorage(options: StorageOptions): Promise<LogStorage> {
  const { dataDir, logsUrl = join(dataDir, 'logs'), environment = {}, clock } = options
  if (!/^[a-z][\w+.-]*:\/\//i.test(logsUrl)) return diskStorage(resolve(logsUrl))
  if (logsUrl.startsWith('file://')) return diskStorage(folderOf(logsUrl))
  const address = parseS3Url(logsUrl, environment)
  const credentials = awsCredentials({ env: environment, clock, region: address.region })
  const s3 = openS3({ address, clock, credentials, ...(options.s3Limits && { limits: options.s3Limits }) })
  await requireUsableS3(s3, clock)
  return s3Storage(s3)
}

function folderOf(url: string): string {
  try {
    return fileURLToPath(url)
  } catch (error) {
    throw fault(
      'config-invalid',
      {
        message: `"${url}" is not the URL of a folder, such as file:///var/lib/windlass/logs.`,
        hint: 'Use an absolute path after file://, or the URL of a bucket.',
      },
      error,
    )
  }
}

/** Uses a folder, which is created if it does not exist. Several servers may share it. */
export async function diskStorage(folder: string): Promise<LogStorage> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, MARK_NAME)
  return {
    name: `folder ${folder}`,
    folder,
    objects: diskObjects(folder),
    markName: file,
    async readMark() {
      try {
        return (await readFile(file, 'utf8')).trim()
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return undefined
        throw error
      }
    },
    writeMark: async (mark) => writePrivateFile(file, `${mark}\n`),
  }
}

/** Uses a bucket. The mark is written only if there is none, which needs a store with conditional writes. */
export function s3Storage(s3: S3): LogStorage {
  const { address } = s3
  return {
    name: `bucket ${nameOf(address)}`,
    folder: undefined,
    objects: rememberRecent(s3Objects(s3), RECENT_BYTES),
    markName: `s3://${address.bucket}/${keyOf(address, MARK_NAME)}`,
    readMark: () =>
      orUnavailable(async () => {
        const mark = await getObject(s3, MARK_NAME, { start: 0, bytes: MAX_MARK_BYTES })
        return mark?.body.toString().trim()
      }),
    writeMark: (mark) =>
      orUnavailable(async () => {
        const headers = { ...address.encryption, 'if-none-match': '*' }
        const request = { action: 'PutObject', method: 'PUT', key: MARK_NAME, body: Buffer.from(`${mark}\n`) } as const
        const { code } = await s3.call({ ...request, headers, accepts: ['PreconditionFailed', 'NotImplemented'] })
        if (code === 'NotImplemented') await s3.call({ ...request, headers: address.encryption })
      }),
  }
}
