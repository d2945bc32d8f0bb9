import { hash as digest, randomBytes, timingSafeEqual } from 'node:crypto'

/** Ids of one second that a process can put in order. */
const PLACES = 65_536
const PLACES_PER_MS = 65

/** Place of the last id within its second. */
let last = { second: '', place: 0 }

/**
 * Returns a new id of 24 hex digits. The first eight are the epoch seconds, and the next four the place within the second. Ids of one process sort by
 * creation, up to 65,536 in a second; those of several processes sort by their clocks. The rest is random.
 */
export function newId(now: number): string {
  const second = firstId(now)
  const byClock = Math.max(0, Math.floor(now) % 1000) * PLACES_PER_MS
  const place = second === last.second ? Math.min(Math.max(byClock, last.place + 1), PLACES - 1) : byClock
  last = { second, place }
  return second + place.toString(16).padStart(4, '0') + randomBytes(6).toString('hex')
}

/** Returns the prefix that sorts before all ids of this second and later, and after all earlier ids. */
export function firstId(time: number): string {
  return Math.max(0, Math.floor(time / 1000))
    .toString(16)
    .padStart(8, '0')
}

export function isId(text: string): boolean {
  return /^[0-9a-f]{24}$/.test(text)
}

export interface Token {
  readonly id: string
  /** `<24 hex>.<secret>`: opaque, shown once. The public CLI must not mistake it for a JWT. */
  readonly text: string
  /** SHA-256 of the secret, hex. Only this is stored. A secret of 256 random bits needs no slow hash. */
  readonly hash: string
}

export function newToken(now: number): Token {
  const id = newId(now)
  const secret = randomBytes(32).toString('base64url')
  return { id, text: `${id}.${secret}`, hash: sha256(secret) }
}

/** Splits the text of a token. Returns undefined if it does not have the form of a token. */
export function parseToken(text: string): { id: string; secret: string } | undefined {
  const match = /^([0-9a-f]{24})\.([A-Za-z0-9_-]{20,200})$/.exec(text)
  return match?.[1] !== undefined && match[2] !== undefined ? { id: match[1], secret: match[2] } : undefined
}

/** Returns true if `secret` matches the stored hash. Runs in constant time. */
export function tokenMatches(secret: string, hash: string): boolean {
  const given = Buffer.from(sha256(secret), 'hex')
  const stored = Buffer.from(hash, 'hex')
  return given.length === stored.length && timingSafeEqual(given, stored)
}

/** Returns the SHA-256 hash in hex. */
export function sha256(data: string | Uint8Array): string {
  return digest('sha256', data, 'hex')
}
