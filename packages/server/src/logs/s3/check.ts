/** The check of a log storage in S3 when a server starts. */
import { fault, isFault, newId, type Clock } from '@windlass/kit'
import { nameOf } from './address.ts'
import { RANGE_IGNORED, S3Error, type S3, type S3Call } from './client.ts'

const PROBE = Buffer.from('Written by a server of Windlass when it starts, and deleted at once.\n')
const SKEW_CODE = 'RequestTimeTooSkewed'

/**
 * Lists, writes, reads and deletes once below the prefix. Throws `config-invalid` with the cause if the store refuses one of them, and `unavailable` if
 * it does not answer.
 */
export async function requireUsableS3(s3: S3, clock: Clock): Promise<void> {
  const key = `.check-${newId(clock.now())}`
  const calls: readonly S3Call[] = [
    { action: 'ListObjectsV2', method: 'GET', query: { 'list-type': '2', 'max-keys': '1', prefix: s3.address.prefix } },
    { action: 'PutObject', method: 'PUT', key, headers: s3.address.encryption, body: PROBE },
    { action: 'GetObject', method: 'GET', key, headers: { range: 'bytes=8-12' } },
    { action: 'DeleteObject', method: 'DELETE', key },
  ]
  for (const call of calls) {
    const answer = await s3.call(call).catch((error: unknown) => {
      throw explain(s3, clock, error)
    })
    if (call.action === 'GetObject' && !answer.body.equals(PROBE.subarray(8, 13))) throw withoutRanges(s3)
  }
}

const PERMISSIONS: Readonly<Record<string, string>> = {
  ListObjectsV2: 's3:ListBucket on the bucket',
  PutObject: 's3:PutObject on its objects',
  GetObject: 's3:GetObject on its objects',
  DeleteObject: 's3:DeleteObject on its objects',
}

function explain(s3: S3, clock: Clock, error: unknown): unknown {
  const { address } = s3
  if (isFault(error, 'storage-refused')) return invalid(s3, `cannot be used: ${error.message}`, error.hint, error)
  if (isFault(error, 'storage-unreachable')) return unreachable(s3, error)
  if (!(error instanceof S3Error)) return error
  const detail = error.message
  switch (error.code) {
    case 'NoSuchBucket':
      return invalid(s3, 'does not exist', `Create the bucket "${address.bucket}" or correct its name and endpoint.`, error)
    case 'AccessDenied':
    case 'AllAccessDisabled': {
      const action = Object.keys(PERMISSIONS).find((name) => detail.includes(name)) ?? ''
      return invalid(s3, `denies access: ${detail}`, `Grant ${PERMISSIONS[action] ?? 'access'} "${address.bucket}".`, error)
    }
    case 'InvalidAccessKeyId':
    case 'SignatureDoesNotMatch':
    case 'InvalidToken':
    case 'ExpiredToken':
      return invalid(s3, `does not accept the credentials: ${detail}`, CREDENTIALS, error)
    case SKEW_CODE: {
      const here = new Date(clock.now()).toISOString()
      const there = error.storeTime === undefined ? 'unknown' : new Date(error.storeTime).toISOString()
      const message = `refuses requests because the clocks differ: here it is ${here}, there ${there}`
      return invalid(s3, message, 'Synchronize the clock of this machine (NTP).', error)
    }
    case 'PermanentRedirect':
    case 'TemporaryRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException': {
      const region = error.region === undefined ? 'another region' : `the region ${error.region}`
      const hint = `Set region=${error.region ?? 'REGION'} in WINDLASS_SERVER_LOGS_URL.`
      return invalid(s3, `is in ${region} and not in ${address.region}: ${detail}`, hint, error)
    }
    case RANGE_IGNORED:
      return withoutRanges(s3, error)
    default:
      return error.status === 0 || error.status === 429 || error.status >= 500
        ? unreachable(s3, error)
        : invalid(s3, `refuses a request: ${detail}`, 'See the message of the store.', error)
  }
}

const CREDENTIALS = 'Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role of this process.'

function invalid({ address }: S3, problem: string, hint: string, cause?: unknown): Error {
  return fault('config-invalid', { message: `The log storage ${nameOf(address)} ${problem}.`.replace(/\.\.$/, '.'), hint }, cause)
}

function withoutRanges(s3: S3, cause?: unknown): Error {
  return invalid(s3, 'returns other bytes than the requested range', 'Use a store that supports the Range header.', cause)
}

function unreachable({ address }: S3, error: Error): Error {
  const hint = `Check the network to ${address.endpoint}, and start the server again.`
  return fault('unavailable', { message: `The log storage ${nameOf(address)} does not answer: ${error.message}`, hint }, error)
}
