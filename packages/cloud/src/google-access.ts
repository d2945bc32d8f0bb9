/**
 * Gets tokens for Google APIs: from the key file of a service account (a signed JWT is exchanged, RFC 7523), else from the metadata server
 * of the node, which also serves Workload Identity.
 */
import { createSign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fault, parseJson, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { cached } from './cached.ts'
import { callCloud, postForm, readJsonError } from './call-cloud.ts'

export interface GoogleAccess {
  readonly project: string
  readonly token: string
}

export interface GoogleAccessOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Base URL of the metadata server, overridden in tests. */
  readonly metadataUrl?: string
}

const KeyFile = z.looseObject({
  type: z.literal('service_account', { error: 'must be the key of a service account' }),
  project_id: z.string(),
  client_email: z.string(),
  private_key: z.string(),
  token_uri: z.url().default('https://oauth2.googleapis.com/token'),
})
const Token = z.looseObject({ access_token: z.string(), expires_in: z.number() })

const SCOPE = 'https://www.googleapis.com/auth/compute'
const METADATA_URL = 'http://metadata.google.internal'

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
  readonly token: z.infer<typeof Token>
}

async function fromKeyFile({ clock }: GoogleAccessOptions, path: string, signal: AbortSignal): Promise<Granted> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw fault('storage-refused', { message: `The file ${path} of GOOGLE_APPLICATION_CREDENTIALS cannot be read.` }, error)
  })
  const parsed = KeyFile.safeParse(parseJson(text))
  // Without the message of the schema, which might quote the file.
  if (!parsed.success) throw fault('storage-refused', { message: `${path} is not the key file of a Google service account.` })
  const key = parsed.data
  const assertion = signedJwt(key, clock.now())
  const request = postForm(key.token_uri, { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
  const answer = await callCloud(clock, { provider: 'Google', action: 'token', request, readError: readJsonError }, signal)
  return { project: key.project_id, token: Token.parse(JSON.parse(answer)) }
}

/** Returns the signed assertion of a service account for a token. It is valid for one hour. */
function signedJwt(key: z.infer<typeof KeyFile>, now: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const issuedAt = Math.floor(now / 1000)
  const claims = { iss: key.client_email, scope: SCOPE, aud: key.token_uri, iat: issuedAt, exp: issuedAt + 3600 }
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key.private_key, 'base64url')}`
}

async function fromMetadata({ clock, metadataUrl = METADATA_URL }: GoogleAccessOptions, signal: AbortSignal): Promise<Granted> {
  const ask = (path: string): Promise<string> => {
    const headers = { 'metadata-flavor': 'Google' }
    const request = { method: 'GET', url: `${metadataUrl}/computeMetadata/v1${path}`, headers }
    return callCloud(clock, { provider: 'Google metadata', action: path, request, readError: readJsonError }, signal)
  }
  try {
    const project = await ask('/project/project-id')
    return { project, token: Token.parse(JSON.parse(await ask('/instance/service-accounts/default/token'))) }
  } catch (error) {
    signal.throwIfAborted()
    const hint = 'Mount the key of a service account, or annotate the service account of this process for Workload Identity.'
    const message = 'No Google credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, and no metadata server provides a token.'
    throw fault('storage-refused', { message, hint }, error)
  }
}
