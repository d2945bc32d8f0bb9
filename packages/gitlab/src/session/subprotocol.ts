/** The two subprotocols in which GitLab talks with a terminal. Neither has a message for the size of the screen. */

/** Frames with bytes, and text frames with bytes in Base64. */
const SUBPROTOCOLS = ['terminal.gitlab.com', 'base64.terminal.gitlab.com'] as const
export type Subprotocol = (typeof SUBPROTOCOLS)[number]

/** Returns the first subprotocol of a client that is known here, from the header `Sec-WebSocket-Protocol`. */
export function chooseSubprotocol(header: string | undefined): Subprotocol | undefined {
  const offered = (header ?? '').split(',').map((name) => name.trim())
  return offered.flatMap((name) => SUBPROTOCOLS.filter((known) => known === name))[0]
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Returns the bytes of a message; undefined for one that the subprotocol does not have. */
export function decodeInput(
  subprotocol: Subprotocol,
  { data, isBinary }: { readonly data: Buffer; readonly isBinary: boolean },
): Buffer | undefined {
  if (isBinary !== (subprotocol === 'terminal.gitlab.com')) return undefined
  if (isBinary) return data
  const text = data.toString('latin1')
  return BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
}

/** Returns a message with bytes: a buffer for a binary one, a text for a text one. */
export function encodeOutput(subprotocol: Subprotocol, bytes: Buffer): Buffer | string {
  return subprotocol === 'terminal.gitlab.com' ? bytes : bytes.toString('base64')
}
