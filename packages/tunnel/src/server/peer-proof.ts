/** Calls between servers that share their tunnels. A call carries a proof that only a server can make, so that it is believed who the caller is. */
import type { Clock } from '@windlass/kit'

/** Makes and checks codes with a key that all servers have. */
export interface PeerKey {
  sign(text: string): Promise<string>
  verify(text: string, code: string): boolean
}

/** How long a proof is valid, which is more than the clocks of two servers differ. Milliseconds. */
const VALID_MS = 60_000

export interface PeerCall {
  readonly method: string
  readonly authority: string
  readonly path: string
}

/** Returns the value of the header with the proof. */
export async function proofOf(key: PeerKey, clock: Clock, call: PeerCall): Promise<string> {
  const until = String(clock.now() + VALID_MS)
  return `${until} ${await key.sign(textOf(until, call))}`
}

/** True if the header proves that a server sends this call. */
export function isProof(
  key: PeerKey,
  clock: Clock,
  { header, call }: { readonly header: unknown; readonly call: PeerCall },
): boolean {
  const [until = '', code = '', ...rest] = typeof header === 'string' ? header.split(' ') : []
  if (rest.length > 0 || !/^\d{1,16}$/.test(until) || Math.abs(Number(until) - clock.now()) > 2 * VALID_MS) return false
  return Number(until) > clock.now() && key.verify(textOf(until, call), code)
}

function textOf(until: string, { method, authority, path }: PeerCall): string {
  return [until, method, authority, path].join('\n')
}
