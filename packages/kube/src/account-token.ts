/** Reads the tokens of service accounts, which are JWTs. Does not verify them: only the API server can. */
import { parseJson } from '@windlass/kit'
import { z } from 'zod'

/** A token that expires. */
export interface AccountToken {
  readonly namespace: string
  readonly account: string
  /** Epoch milliseconds, by the clock of the API server. */
  readonly issuedAt: number
  readonly expiresAt: number
}

const Claims = z.object({
  iat: z.number(),
  exp: z.number(),
  'kubernetes.io': z.object({ namespace: z.string(), serviceaccount: z.object({ name: z.string() }) }),
})
const Expiry = z.object({ exp: z.number() })
const Namespaces = z.object({
  'kubernetes.io': z.object({ namespace: z.string() }).optional(),
  'kubernetes.io/serviceaccount/namespace': z.string().optional(),
})

/** Returns what a token says about itself; undefined for a token that does not expire, or is not of a service account. */
export function readAccountToken(token: string): AccountToken | undefined {
  const claims = Claims.safeParse(claimsOf(token)).data
  if (claims === undefined) return undefined
  const { namespace, serviceaccount } = claims['kubernetes.io']
  return { namespace, account: serviceaccount.name, issuedAt: claims.iat * 1000, expiresAt: claims.exp * 1000 }
}

/** Returns the namespace of the account of a token; undefined if it does not say. */
export function tokenNamespace(token: string): string | undefined {
  const claims = Namespaces.safeParse(claimsOf(token)).data
  return claims?.['kubernetes.io']?.namespace ?? claims?.['kubernetes.io/serviceaccount/namespace']
}

/** Returns when a token expires, epoch milliseconds; undefined if it does not say. */
export function expiryOf(token: string): number | undefined {
  const expiry = Expiry.safeParse(claimsOf(token)).data
  return expiry === undefined ? undefined : expiry.exp * 1000
}

function claimsOf(token: string): unknown {
  const [, claims, signature] = token.split('.')
  if (claims === undefined || signature === undefined) return undefined
  return parseJson(Buffer.from(claims, 'base64url').toString('utf8'))
}
