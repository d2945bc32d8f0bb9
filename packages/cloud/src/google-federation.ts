/** Workload Identity Federation of Google: a token of another identity provider is exchanged for one of Google (RFC 8693). */
import type { Clock } from '@windlass/kit'
import { z } from 'zod'
import { callCloud, parseAnswer, postForm, readJsonError } from './call-cloud.ts'

export interface FederatedLogin {
  /** Full name of the provider in its pool, which begins with `//iam.googleapis.com/`. */
  readonly audience: string
  /** Signed token of the other identity provider. */
  readonly token: string
}

export interface FederationOptions {
  readonly clock: Clock
  /** Base URL of the Security Token Service. */
  readonly stsUrl?: string | undefined
}

const Answer = z.looseObject({ access_token: z.string() })

/** Returns an access token for the APIs of Google. Throws as `callCloud`. */
export async function federatedGoogleToken(
  { clock, stsUrl = 'https://sts.googleapis.com' }: FederationOptions,
  { audience, token }: FederatedLogin,
  signal: AbortSignal,
): Promise<string> {
  const request = postForm(`${stsUrl}/v1/token`, {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience,
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    subject_token: token,
  })
  const answer = await callCloud(clock, { provider: 'Google STS', action: 'token', request, readError: readJsonError }, signal)
  return parseAnswer(Answer, 'Google STS', answer).access_token
}
