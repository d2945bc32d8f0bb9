/**
 * Signs text in the name of a Google service account: with its key, or by the IAM Credentials API with the account of the metadata server, whose key nobody
 * has.
 */
import { createSign } from 'node:crypto'
import { fault } from '@windlass/kit'
import { z } from 'zod'
import { callCloud, parseAnswer, readJsonError } from './call-cloud.ts'
import { GoogleKey, readGoogleKey } from './google-key.ts'
import { askMetadata, GoogleToken, type MetadataOptions } from './google-metadata.ts'

export interface GoogleSigner {
  /** Address of the service account. */
  readonly email: string
  /** Returns the RSA signature (PKCS #1, SHA-256) of a text. Throws `storage-refused` and `storage-unreachable`. */
  readonly sign: (text: string, signal: AbortSignal) => Promise<Buffer>
}

export interface GoogleSignerOptions extends MetadataOptions {
  /** Path of a key file, which has precedence. */
  readonly keyFile?: string | undefined
  /** Setting that has the path, for messages. */
  readonly keyFileSource?: string
  /** Domain of the APIs. Default: `googleapis.com`. */
  readonly universe?: string
  /** Base URL of the IAM Credentials API with its version, overridden in tests. */
  readonly iamUrl?: string
}

/**
 * Returns the signer of `keyFile`, of the file in `GOOGLE_APPLICATION_CREDENTIALS`, or of the account of the metadata server, in this order. Throws
 * `storage-refused` if there is none.
 */
export async function googleSigner(options: GoogleSignerOptions, signal: AbortSignal): Promise<GoogleSigner> {
  const { env, keyFile, keyFileSource = 'the key' } = options
  const [path, source] =
    keyFile === undefined ? [env['GOOGLE_APPLICATION_CREDENTIALS'], 'GOOGLE_APPLICATION_CREDENTIALS'] : [keyFile, keyFileSource]
  if (path === undefined || path === '') return metadataSigner(options, signal)
  const { client_email: email, private_key: key } = await readGoogleKey(GoogleKey, path, source)
  return keySigner(email, key)
}

/** Returns the signer of an account whose key is known: PEM text, whose line breaks can be written as `\n`. */
export function keySigner(email: string, key: string): GoogleSigner {
  const pem = key.replaceAll(String.raw`\n`, '\n')
  return {
    email,
    sign(text) {
      try {
        return Promise.resolve(createSign('RSA-SHA256').update(text).sign(pem))
      } catch {
        // Without the cause, which might quote the key.
        return Promise.reject(fault('storage-refused', { message: `The private key of ${email} is not an RSA key in PEM form.` }))
      }
    },
  }
}

const Signed = z.looseObject({ signedBlob: z.string() })

async function metadataSigner(options: GoogleSignerOptions, signal: AbortSignal): Promise<GoogleSigner> {
  const { clock, universe = 'googleapis.com', iamUrl = `https://iamcredentials.${universe}/v1` } = options
  const { email, token } = await accountOf(options, signal)
  return {
    email,
    async sign(text, signing) {
      const request = {
        method: 'POST',
        url: `${iamUrl}/projects/-/serviceAccounts/${encodeURIComponent(email)}:signBlob`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ payload: Buffer.from(text).toString('base64') }),
      }
      const call = { provider: 'Google IAM Credentials', action: 'signBlob', request, readError: readJsonError }
      const { signedBlob } = parseAnswer(Signed, call.provider, await callCloud(clock, call, signing))
      return Buffer.from(signedBlob, 'base64')
    },
  }
}

async function accountOf(options: GoogleSignerOptions, signal: AbortSignal): Promise<{ email: string; token: string }> {
  const account = '/instance/service-accounts/default'
  try {
    const email = (await askMetadata(options, `${account}/email`, signal)).trim()
    const answer = await askMetadata(options, `${account}/token`, signal)
    return { email, token: parseAnswer(GoogleToken, 'Google metadata', answer).access_token }
  } catch (error) {
    signal.throwIfAborted()
    const hint = 'Set the key of a service account, or annotate the service account of this process for Workload Identity.'
    const message = 'No Google credentials: there is no key of a service account, and no metadata server answers.'
    throw fault('storage-refused', { message, hint }, error)
  }
}
