/** EC2's query API (version 2016-11-15), signed by Signature Version 4. */
import type { Clock } from '@windlass/kit'
import { AwsClient } from 'aws4fetch'
import { callCloud } from '../http.ts'
import type { AwsCredentials } from './credentials.ts'
import { readXmlError } from './xml.ts'

export interface Ec2Options {
  readonly clock: Clock
  readonly region: string
  /** URL in place of the region's own. */
  readonly endpoint?: string | undefined
  readonly credentials: (signal: AbortSignal) => Promise<AwsCredentials>
}

/** Calls an action with flat parameters (`TagSpecification.1.Tag.1.Key`); answers XML. Throws as `callCloud`. */
export type Ec2 = (action: string, parameters: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<string>

/** Codes that AWS documents as worth another try. */
const PASSING = [
  'RequestLimitExceeded',
  'Throttling',
  'ThrottlingException',
  'InternalError',
  'Unavailable',
  'ServiceUnavailable',
]

/** Opens the API of a region; nothing is sent yet. */
export function openEc2({ clock, region, endpoint, credentials }: Ec2Options): Ec2 {
  const url = endpoint ?? `https://ec2.${region}.amazonaws.com/`
  return async (action, parameters, signal) => {
    const body = new URLSearchParams({ Action: action, Version: '2016-11-15', ...parameters }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
    const send = async (limit: AbortSignal): Promise<Response> => {
      // Signed anew at each try: a signature is good for minutes, and credentials end.
      const signer = new AwsClient({ ...(await keysOf(credentials, signal)), service: 'ec2', region, retries: 0 })
      return fetch(await signer.sign(url, { method: 'POST', headers, body }), { signal: limit })
    }
    return callCloud(clock, { provider: 'EC2', action, send, readError: readXmlError, passing: PASSING }, signal)
  }
}

async function keysOf(
  credentials: Ec2Options['credentials'],
  signal: AbortSignal,
): Promise<{ accessKeyId: string; secretAccessKey: string; sessionToken?: string }> {
  const { accessKeyId, secretAccessKey, sessionToken } = await credentials(signal)
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
}
