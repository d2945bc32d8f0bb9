/**
 * What the key of the Git tokens is made of, as it is stored: the token of the runtime and a random text. The app-proxy keeps what it has read, so it works on without them until it is
 * started again, and then nobody can read the Git tokens.
 */
import { readFile } from 'node:fs/promises'
import { parseToken } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import type { CheckResult } from '@windlass/protocol'
import { z } from 'zod'
import type { GitTokens } from '../store/git-tokens.ts'
import { failed, ok, unknown } from './results.ts'

export interface StoredKeys {
  /** The parts that are in use. */
  readonly used: () => KeyParts
  /** The parts that are stored; undefined for one that is missing. */
  readonly stored: () => Promise<Partial<KeyParts>>
  /** What stores them, in words. */
  readonly place: string
}

export interface KeyParts {
  readonly token: string
  readonly randomText: string
}

const SecretData = z.object({ token: z.string().optional(), encryptionIV: z.string().optional() })

/** Reads both from a Secret with the keys `token` and `encryptionIV`. */
export function keysInSecret(kube: Kube, ref: { readonly namespace: string; readonly name: string }): Omit<StoredKeys, 'used'> {
  return {
    place: `The Secret ${ref.name}`,
    async stored() {
      const found = await kube.find({ kind: 'Secret', ...ref })
      const { token, encryptionIV } = SecretData.safeParse(found?.['data'] ?? {}).data ?? {}
      return {
        ...(token !== undefined && { token: fromBase64(token) }),
        ...(encryptionIV !== undefined && { randomText: fromBase64(encryptionIV) }),
      }
    },
  }
}

/** For an app-proxy that does not know its Secret: the file of the token, and the random text that it was started with. */
export function keysInFile(tokenFile: string, randomText: string): Omit<StoredKeys, 'used'> {
  return {
    place: `The file ${tokenFile}`,
    async stored() {
      const token = await readFile(tokenFile, 'utf8').catch(() => undefined)
      return { randomText, ...(token !== undefined && { token: token.trim() }) }
    },
  }
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8').trim()
}

const RESTORE =
  'Restore the Secret from a copy. Without one, install the runtime again; users register their Git tokens again then.'

/** Checks that the token of the runtime is stored, and that the key that is made of it decrypts the Git tokens. */
export async function checkKey({ used, stored, place }: StoredKeys, tokens: GitTokens): Promise<CheckResult> {
  const { token } = await stored()
  if (token === undefined || parseToken(token) === undefined)
    return failed(`${place} does not have the token of the runtime.`, RESTORE)
  if (token !== used().token) return unknown(`${place} has another token than the app-proxy, which reads it within two minutes.`)
  const { count, locked } = await tokens.count()
  if (locked === 0) return ok(`The key decrypts all Git tokens (${count}).`)
  return failed(
    `${locked} of ${count} Git tokens are encrypted with another key.`,
    'Their users register them again. After a change of the token of the runtime, set WINDLASS_APP_PROXY_PREVIOUS_TOKEN_PATH to the earlier one instead.',
  )
}

/** Checks that the random text is stored, and is still the one in use. */
export async function checkRandomText({ used, stored, place }: StoredKeys): Promise<CheckResult> {
  const { randomText } = await stored()
  if (randomText === undefined || randomText === '')
    return failed(`${place} does not have encryptionIV, a part of the key of the Git tokens.`, RESTORE)
  if (randomText === used().randomText.trim())
    return ok('The random part of the key of the Git tokens is stored, and has not changed.')
  return failed(`${place} has another encryptionIV than the one with which the Git tokens are encrypted.`, RESTORE)
}
