import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A fresh id: 24 hex digits, the first eight the seconds since 1970, so that ids sort by age. */
export function newId(now: number): string {
  return (
    Math.floor(now / 1000)
      .toString(16)
      .padStart(8, '0') + randomBytes(8).toString('hex')
  )
}

export function isId(text: string): boolean {
  return /^[0-9a-f]{24}$/.test(text)
}

export interface Token {
  readonly id: string
  /** `<24 hex>.<secret>`: opaque, shown once. The form must not look like a JWT to the public CLI. */
  readonly text: string
  /** SHA-256 of the secret, hex: all that is stored. 256 random bits need no slow hash. */
  readonly hash: string
}

export function newToken(now: number): Token {
  const id = newId(now)
  const secret = randomBytes(32).toString('base64url')
  return { id, text: `${id}.${secret}`, hash: sha256(secret) }
}

/** Splits a token's text, or undefined when it has not the form of one. */
export function parseToken(text: string): { id: string; secret: string } | undefined {
  const match = /^([0-9a-f]{24})\.([A-Za-z0-9_-]{20,200})$/.exec(text)
  return match?.[1] !== undefined && match[2] !== undefined ? { id: match[1], secret: match[2] } : undefined
}

/** True when `secret` belongs to the stored hash; takes the same time either way. */
export function tokenMatches(secret: string, hash: string): boolean {
  const given = Buffer.from(sha256(secret), 'hex')
  const stored = Buffer.from(hash, 'hex')
  return given.length === stored.length && timingSafeEqual(given, stored)
}

/** SHA-256 in hex. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}
