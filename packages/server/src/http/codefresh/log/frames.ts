/** Frames of the log socket: the part of the Realtime Database protocol, version 5, that public clients use. Frames are JSON texts. */
import { z } from 'zod'

export const PROTOCOL = '5'

const Request = z.object({
  t: z.literal('d'),
  d: z.object({
    /** Number of the request, which its answer repeats. */
    r: z.int(),
    /** Action. */
    a: z.string().max(20),
    b: z.looseObject({ p: z.string().max(500).optional(), cred: z.string().max(1000).optional() }).optional(),
  }),
})
const Ping = z.object({ t: z.literal('c'), d: z.object({ t: z.literal('p') }) })

export type ClientFrame =
  | { readonly kind: 'request'; readonly id: number; readonly action: string; readonly path: string; readonly credential: string }
  | { readonly kind: 'ping' }
  | { readonly kind: 'keep-alive' }

/** Parses a frame of a client. Returns undefined for one that clients of logs do not send. */
export function readFrame(text: string): ClientFrame | undefined {
  if (text === '0') return { kind: 'keep-alive' }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  if (Ping.safeParse(json).success) return { kind: 'ping' }
  const request = Request.safeParse(json)
  if (!request.success) return undefined
  const { r: id, a: action, b: { p: path = '', cred: credential = '' } = {} } = request.data.d
  return { kind: 'request', id, action, path: path.replace(/^\/+/, ''), credential }
}

/** The first frame on a connection. */
export function helloFrame(host: string, session: string, now: number): string {
  return JSON.stringify({ t: 'c', d: { t: 'h', d: { ts: now, v: PROTOCOL, h: host, s: session } } })
}

export const PONG = JSON.stringify({ t: 'c', d: { t: 'o', d: null } })

/** The answer to a request. */
export function answerFrame(id: number, status: 'ok' | 'invalid_token' | 'permission_denied', data: unknown = {}): string {
  return JSON.stringify({ t: 'd', d: { r: id, b: { s: status, d: data } } })
}

/** Replaces the value of a node. */
export function valueFrame(path: string, value: unknown): string {
  return JSON.stringify({ t: 'd', d: { a: 'd', b: { p: path, d: value } } })
}

/** Adds children to a node and keeps the others. */
export function mergeFrame(path: string, children: unknown): string {
  return JSON.stringify({ t: 'd', d: { a: 'm', b: { p: path, d: children } } })
}
