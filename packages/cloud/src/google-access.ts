/**
 * Gets tokens for Google APIs: from the key file of a service account (a signed JWT is exchanged, RFC 7523), else from the metadata server
 * of the node, which also serves Workload Identity.
 */
import { createSign } from 'node:crypto'
import { fault } from '@windlass/kit'
import { z } from 'zod'
import { cached } from './cached.ts'
import { callCloud, parseAnswer, postForm, readJsonError } from './call-cloud.ts'
import { GoogleKey, readGoogleKey } from './google-key.ts'
import { askMetadata, GoogleToken, type MetadataOptions } from './google-metadata.ts'

export interface GoogleAccess {
  readonly project: string
  readonly token: string
}

export type GoogleAccessOptions = MetadataOptions

const KeyFile = GoogleKey.extend({
  project_id: z.string(),
  token_uri: z.url().default('https://oauth2.googleapis.com/token'),
})

const SCOPE = 'https://www.googleapis.com/auth/compute'

/** Returns a function that provides a token and its project, caching it (`cached`). Throws `storage-refused` if there is none. */
export function googleAccess(options: GoogleAccessOptions): (signal: AbortSignal) => Promise<GoogleAccess> {
  const granted = cached(options.clock, async (signal) => {
    const path = options.env['GOOGLE_APPLICATION_CREDENTIALS']
    const { project, token } = path === undefined ? await fromMetadata(options, signal) : await fromKeyFile(options, path, signal)
    return { project, token: token.access_token, expiresAt: options.clock.now() + token.expires_in * 1000 }
  })
  return async (signal) => {
    const { project, token } = await granted(signal)
    return { project, token }
  }
}

interface Granted {
  readonly project: string
  readonly token: z.infer<typeof GoogleToken>
}

async function fromKeyFile({ clock }: GoogleAccessOptions, path: string, signal: AbortSignal): Promise<Granted> {
  const key = await readGoogleKey(KeyFile, path, 'GOOGLE_APPLICATION_CREDENTIALS')
  const assertion = signedJwt(key, clock.now())
  const request = postForm(key.token_uri, { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
  const answer = await callCloud(clock, { provider: 'Google', action: 'token', request, readError: readJsonError }, signal)
  return { project: key.project_id, token: parseAnswer(GoogleToken, 'Google', answer) }
}

/** Returns the signed assertion of a service account for a token. It is valid for one hour. */
function signedJwt(key: z.infer<typeof KeyFile>, now: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const issuedAt = Math.floor(now / 1000)
  const claims = { iss: key.client_email, scope: SCOPE, aud: key.token_uri, iat: issuedAt, exp: issuedAt + 3600 }
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key.private_key, 'base64url')}`
}

async function fromMetadata(options: GoogleAccessOptions, signal: AbortSignal): Promise<Granted> {
  try {
    const project = await askMetadata(options, '/project/project-id', signal)
    const answer = await askMetadata(options, '/instance/service-accounts/default/token', signal)
    return { project, token: parseAnswer(GoogleToken, 'Google metadata', answer) }
  } catch (error) {
    signal.throwIfAborted()
    const hint = 'Mount the key of a service account, or annotate the service account of this process for Workload Identity.'
    const message = 'No Google credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, and no metadata server provides a token.'
    throw fault('storage-refused', { message, hint }, error)
  }
}
