/** Which headers cross a tunnel. */
import type { IncomingHttpHeaders } from 'node:http'
import { INTERNAL } from '../protocol.ts'
import type { Headers } from './exchange.ts'

/**
 * Headers of one connection (RFC 9110, 7.6.1), which HTTP/2 does not allow. `te` has an own rule, and `expect` is carried because the answer to it is. `host` is the
 * authority of a call.
 */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
])

const INTERNAL_NAMES: ReadonlySet<string> = new Set(Object.values(INTERNAL))

/** Returns the headers that cross, without pseudo headers, those of one connection, those that `Connection` lists, and internal ones. */
export function crossing(headers: IncomingHttpHeaders): Headers {
  const listed = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
  const kept: Headers = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(':')) continue
    if (HOP_BY_HOP.has(name) || listed.has(name) || INTERNAL_NAMES.has(name)) continue
    kept[name] = value
  }
  if (/(?:^|,)\s*trailers\b/i.test(String(headers.te ?? ''))) kept['te'] = 'trailers'
  return kept
}

const WHERE_FROM =
  /^(?:x-forwarded-|forwarded$|forwarded-for$|x-original-|x-rewrite-url$|via$|(?:x-real|x-client|x-cluster-client|true-client|cf-connecting|fastly-client)-ip$|x-envoy-external-address$)/

/** True for a header that says where a call comes from, which only the server knows. Some servers read `_` as `-`. */
export function saysWhereFrom(name: string): boolean {
  return WHERE_FROM.test(name.replaceAll('_', '-'))
}

/** Returns trailers. They cannot frame a message or name its recipient (RFC 9110, 6.5.1), nor say where a call comes from: some servers read them as headers. */
export function crossingTrailers(trailers: IncomingHttpHeaders | NodeJS.Dict<string>): Headers {
  const kept = crossing(trailers)
  for (const name of ['content-length', 'content-encoding', 'content-type', 'authorization', 'set-cookie', 'trailer'])
    delete kept[name]
  return Object.fromEntries(Object.entries(kept).filter(([name]) => !saysWhereFrom(name)))
}

/** True for a message whose trailers can follow its body: without a length. */
export function mayHaveTrailers(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined
}

/** Returns headers that Node accepts beside a length. It refuses `trailer` there, because no trailer could follow. */
export function forHttp1(headers: Headers): Headers {
  if (headers['content-length'] === undefined || headers['trailer'] === undefined) return headers
  const { trailer: _trailer, ...rest } = headers
  return rest
}
