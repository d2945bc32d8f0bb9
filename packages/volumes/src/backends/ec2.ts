/** A client of the EC2 query API (version 2016-11-15). */
import { callCloud, postForm, readXmlError, signAws, type AwsCredentials, type CloudRequest } from '@windlass/cloud'
import type { Clock } from '@windlass/kit'

export interface Ec2Options {
  readonly clock: Clock
  readonly region: string
  /** URL instead of that of the region. */
  readonly endpoint?: string | undefined
  readonly credentials: (signal: AbortSignal) => Promise<AwsCredentials>
}

/** Calls an action with flat parameters (`TagSpecification.1.Tag.1.Key`) and returns XML. Throws like `callCloud`. */
export type Ec2 = (action: string, parameters: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<string>

/** Codes that AWS documents as retriable. */
const RETRIABLE = [
  'RequestLimitExceeded',
  'Throttling',
  'ThrottlingException',
  'InternalError',
  'Unavailable',
  'ServiceUnavailable',
]

/** Opens the API of a region; sends nothing yet. */
export function openEc2({ clock, region, endpoint, credentials }: Ec2Options): Ec2 {
  const url = endpoint ?? `https://ec2.${region}.amazonaws.com/`
  return async (action, parameters, signal) => {
    const form = postForm(url, { Action: action, Version: '2016-11-15', ...parameters })
    // Signed again on each attempt, because signatures and credentials expire.
    const request = async (): Promise<CloudRequest> => {
      const signer = { credentials: await credentials(signal), service: 'ec2', region }
      return { ...form, headers: await signAws(form, signer) }
    }
    return callCloud(clock, { provider: 'EC2', action, request, readError: readXmlError, retriable: RETRIABLE }, signal)
  }
}
