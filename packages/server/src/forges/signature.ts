import { createHmac, timingSafeEqual } from 'node:crypto'
import { sha256 } from '@windlass/kit'

/** Returns true if `signature` is the HMAC-SHA256 of the body in hex. */
export function isHmacOf(signature: string | undefined, body: Uint8Array, secret: string): boolean {
  return signature !== undefined && isSame(signature.toLowerCase(), createHmac('sha256', secret).update(body).digest('hex'))
}

/** Compares two texts in a time that does not depend on them. */
export function isSame(given: string | undefined, expected: string): boolean {
  if (given === undefined) return false
  return timingSafeEqual(Buffer.from(sha256(given), 'hex'), Buffer.from(sha256(expected), 'hex'))
}
