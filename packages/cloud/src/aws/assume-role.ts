/** Takes a role of AWS with the keys of this process. With a token instead of keys it is `assumeRole`. */
import { callCloud, isRefusedWith, postForm, type CloudRequest } from '../call-cloud.ts'
import { sessionOf, type AwsCredentials, type CredentialOptions } from './credentials.ts'
import { signAws } from './sign.ts'
import { readXmlError } from './xml.ts'

export interface RoleRequest extends Pick<CredentialOptions, 'env' | 'clock' | 'region'> {
  /** ARN of the role. */
  readonly role: string
  /** Name of the session: at most 64 letters, digits and `+=,.@-`. */
  readonly session: string
  /** Credentials that may take the role. */
  readonly credentials: AwsCredentials
  /** Wanted life of the session, brought between 15 minutes and 12 hours. Seconds. */
  readonly seconds: number
}

/** What STS accepts as life of a session. Seconds. */
const MIN_S = 900
const MAX_S = 43_200
/** Life that each role allows, also one that is taken with the credentials of another role. Seconds. */
const ANY_ROLE_S = 3_600

/** Codes of STS that ask for another try. */
const RETRIABLE = ['Throttling', 'ThrottlingException', 'RequestLimitExceeded']

/**
 * Calls STS AssumeRole. A role that does not allow the wanted life gives a session of one hour, so the caller reads `expiresAt`. Throws as `callCloud`.
 */
export async function assumeRoleWithKeys(request: RoleRequest, signal: AbortSignal): Promise<AwsCredentials> {
  const seconds = Math.min(Math.max(Math.ceil(request.seconds), MIN_S), MAX_S)
  try {
    return await takeFor(seconds, request, signal)
  } catch (error) {
    if (seconds <= ANY_ROLE_S || !isRefusedWith(error, 'ValidationError')) throw error
    return takeFor(ANY_ROLE_S, request, signal)
  }
}

async function takeFor(
  seconds: number,
  { env, clock, region, role, session, credentials }: RoleRequest,
  signal: AbortSignal,
): Promise<AwsCredentials> {
  const form = postForm(env['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${region}.amazonaws.com/`, {
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: session,
    DurationSeconds: String(seconds),
  })
  // Signed again for each try, because a signature has the time.
  const signed = async (): Promise<CloudRequest> => ({
    ...form,
    headers: await signAws(form, { credentials, service: 'sts', region }),
  })
  const call = { provider: 'STS', action: 'AssumeRole', request: signed, readError: readXmlError, retriable: RETRIABLE }
  return sessionOf(await callCloud(clock, call, signal))
}
