/**
 * What both ends of a tunnel agree on (docs/development/adr/0125-tunnel.md). The client in the cluster opens a WebSocket and names itself in the headers of the
 * request. Binary messages are the bytes of one HTTP/2 connection, in which the server of the tunnel is the HTTP/2 client. Text messages are JSON and control
 * the tunnel: `ServerMessage` from the server, `ClientMessage` from the client. Each side ignores types that it does not know.
 */
import { parseJson } from '@windlass/kit'
import { z } from 'zod'

/** Path of the WebSocket. */
export const TUNNEL_PATH = '/v1/tunnel'
/** Subprotocol with the version. A server that does not know it refuses the client with `protocol-unsupported`. */
export const SUBPROTOCOL = 'windlass-tunnel.v1'

/** Headers of the request that opens the WebSocket. The token is in `Authorization`. */
export const HELLO = {
  runtime: 'windlass-tunnel-runtime',
  /** Random per process. A process that connects again replaces its own connection. */
  client: 'windlass-tunnel-client',
  version: 'windlass-tunnel-version',
  /** Present on the request of a client that waits for the place of another one. */
  standby: 'windlass-tunnel-standby',
  /** Present on the request of a client that only asks whether it could connect. The server answers with `checked`, and nothing changes. */
  check: 'windlass-tunnel-check',
} as const
/** How long a server holds the request of a client that waits. Less than proxies allow. Milliseconds. */
export const STANDBY_MS = 20_000

/** Headers of single calls within the tunnel and between servers. Callers and routers cannot set them. */
export const INTERNAL = {
  /** On an answer of the client of the tunnel: the call was not answered by the router, and why. */
  failure: 'windlass-tunnel-failure',
  /** On an answer: the router has switched protocols. HTTP/2 has no status 101. */
  upgraded: 'windlass-tunnel-upgraded',
  /** On a call between two servers: proof that it comes from one of them. */
  peer: 'windlass-tunnel-peer',
} as const

/** Why a call got no answer of the router. */
export const FAILURES = ['path', 'unreachable', 'broken'] as const
export type Failure = (typeof FAILURES)[number]

const GOAWAY_REASONS = ['replaced', 'shutdown', 'disconnected', 'revoked', 'removed'] as const
export type GoawayReason = (typeof GOAWAY_REASONS)[number]

const Welcome = z.object({
  type: z.literal('welcome'),
  /** Id of the connection. */
  session: z.string().min(1).max(100),
  /** Where callers reach the runtime. */
  url: z.string().max(2000),
  /** Interval of the pings of the server. Milliseconds. */
  heartbeatMs: z.int().positive(),
  /** Silence after which either end gives the connection up. Milliseconds. */
  deadMs: z.int().positive(),
})
export type Welcome = z.infer<typeof Welcome>

const Goaway = z.object({
  type: z.literal('goaway'),
  reason: z.enum(GOAWAY_REASONS).catch('shutdown'),
  /** Delay before the client connects again. Milliseconds. */
  reconnectAfterMs: z.int().nonnegative(),
})
export type Goaway = z.infer<typeof Goaway>

/** The answer to a check: the token is valid. */
const Checked = z.object({
  type: z.literal('checked'),
  /** Where callers reach the runtime. */
  url: z.string().max(2000),
  /** The client that is connected now. */
  client: z.object({ address: z.string().max(100), version: z.string().max(100) }).optional(),
})
export type Checked = z.infer<typeof Checked>

const ServerMessage = z.discriminatedUnion('type', [Welcome, Goaway, Checked])
export type ServerMessage = z.infer<typeof ServerMessage>

/** The client stops: it finishes its calls and gets no more. */
const ClientMessage = z.object({ type: z.literal('goaway') })
export type ClientMessage = z.infer<typeof ClientMessage>

/** Returns a message of the server; undefined for one of another type. */
export function readServerMessage(text: string): ServerMessage | undefined {
  return ServerMessage.safeParse(parseJson(text)).data
}

/** Returns a message of the client; undefined for one of another type. */
export function readClientMessage(text: string): ClientMessage | undefined {
  return ClientMessage.safeParse(parseJson(text)).data
}

/** Longest control message. Characters. */
export const MAX_CONTROL = 8_192
/** Largest message of the WebSocket. One message carries what HTTP/2 wrote at once. Bytes. */
export const MAX_MESSAGE = 16 * 1024 * 1024

/** What a runtime is named: with the id of its account and a `-` before it, a DNS label of at most 63 characters. */
export const RUNTIME_NAME = /^[a-z0-9](?:[a-z0-9-]{0,36}[a-z0-9])?$/
