/**
 * Tokens for Google's APIs: from the key file of a service account (a signed JWT is exchanged, RFC 7523), else from the metadata server of
 * the node, which also serves Workload Identity.
 */
import { createSign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fault, type Clock } from '@windlass/kit'
import { z } from 'zod'
import type { GoogleAccess } from './gcedisk.ts'
import { callCloud, readJsonError } from './http.ts'

export interface GoogleAccessOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Base URL of the metadata server; another one in tests. */
  readonly metadataUrl?: string
}

const KeyFile = z.looseObject({
  type: z.literal('service_account', { error: 'is not the key of a service account' }),
  project_id: z.string(),
  client_email: z.string(),
  private_key: z.string(),
  token_uri: z.url().default('https://oauth2.googleapis.com/token'),
})
const Token = z.looseObject({ access_token: z.string(), expires_in: z.number() })

const SCOPE = 'https://www.googleapis.com/auth/compute'
const EARLY_MS = 5 * 60_000
const METADATA_URL = 'http://metadata.google.internal'

/** Answers a token and the project it is for, from memory while it is good. Throws `storage-refused` when there is none. */
export function googleAccess(options: GoogleAccessOptions): (signal: AbortSignal) => Promise<GoogleAccess> {
  let held: { access: GoogleAccess; until: number } | undefined
  return async (signal) => {
    if (held !== undefined && held.until - EARLY_MS > options.clock.now()) return held.access
    const path = options.env['GOOGLE_APPLICATION_CREDENTIALS']
    const { project, token } = path === undefined ? await fromMetadata(options, signal) : await fromKeyFile(options, path, signal)
    held = { access: { project, token: token.access_token }, until: options.clock.now() + token.expires_in * 1000 }
    return held.access
  }
}

interface Granted {
  readonly project: string
  readonly token: z.infer<typeof Token>
}

async function fromKeyFile({ clock }: GoogleAccessOptions, path: string, signal: AbortSignal): Promise<Granted> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw fault(
      'storage-refused',
      { message: `GOOGLE_APPLICATION_CREDENTIALS names a file that cannot be read: ${path}.` },
      error,
    )
  })
  const parsed = KeyFile.safeParse(parseJson(text))
  // Not with the schema's words: they might quote the file.
  if (!parsed.success) throw fault('storage-refused', { message: `${path} is not the key file of a Google service account.` })
  const key = parsed.data
  const assertion = signedJwt(key, clock.now())
  const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
  const send = (limit: AbortSignal): Promise<Response> => fetch(key.token_uri, { method: 'POST', body, signal: limit })
  const answer = await callCloud(clock, { provider: 'Google', action: 'token', send, readError: readJsonError }, signal)
  return { project: key.project_id, token: Token.parse(JSON.parse(answer)) }
}

/** The assertion that a service account signs for a token. Times in seconds, one hour at most. */
export function signedJwt(key: z.infer<typeof KeyFile>, now: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const issuedAt = Math.floor(now / 1000)
  const claims = { iss: key.client_email, scope: SCOPE, aud: key.token_uri, iat: issuedAt, exp: issuedAt + 3600 }
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key.private_key, 'base64url')}`
}

async function fromMetadata({ clock, metadataUrl = METADATA_URL }: GoogleAccessOptions, signal: AbortSignal): Promise<Granted> {
  const ask = (path: string): Promise<string> => {
    const headers = { 'metadata-flavor': 'Google' }
    const send = (limit: AbortSignal): Promise<Response> =>
      fetch(`${metadataUrl}/computeMetadata/v1${path}`, { headers, signal: limit })
    return callCloud(clock, { provider: 'Google metadata', action: path, send, readError: readJsonError }, signal)
  }
  try {
    const project = await ask('/project/project-id')
    return { project, token: Token.parse(JSON.parse(await ask('/instance/service-accounts/default/token'))) }
  } catch (error) {
    signal.throwIfAborted()
    const hint = 'Mount the key of a service account, or annotate the service account of the provisioner for Workload Identity.'
    const message = 'No Google credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, and no metadata server gives a token.'
    throw fault('storage-refused', { message, hint }, error)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
