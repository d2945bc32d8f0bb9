/** How a server of HTTP/1.1 takes calls that it passes on: one of tunnels, or a router. */
import type { IncomingMessage } from 'node:http'

/** Largest headers of one call or answer. Bytes. */
export const MAX_HEADER_BYTES = 65_536

/** Settings of `node:http`. */
export const CALL_SERVER = {
  maxHeaderSize: MAX_HEADER_BYTES,
  keepAliveTimeout: 75_000,
  headersTimeout: 60_000,
  // Bodies are limited by the time without bytes, not by their size.
  requestTimeout: 0,
  // Without it, Node would also hand over calls that only offer HTTP/2, and lose their bodies.
  // A call with a body does not switch protocols either.
  shouldUpgradeCallback: ({ headers }: IncomingMessage): boolean =>
    /^websocket$/i.test(headers.upgrade ?? '') &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined,
}
