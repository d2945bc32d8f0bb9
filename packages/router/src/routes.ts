/** Which service of a GitOps runtime gets a call: a pure function of its path. A path that is not plain leads nowhere, so that no call leaves its service. */
import { decodeOnce, isPlainPath } from '@windlass/tunnel/exchange'

/** A service that gets calls. */
export type Service = 'app-proxy' | 'workflows' | 'event-source'

export type Route =
  /** `path` is the target for the service, with the query. */
  | { readonly to: 'app-proxy' | 'workflows'; readonly path: string }
  | { readonly to: 'event-source'; readonly path: string; readonly namespace: string; readonly name: string }
  /** The router answers itself. */
  | { readonly to: 'readyz' | 'healthz' }
  | { readonly to: 'redirect'; readonly location: string }

export interface RouteRules {
  readonly hasWorkflows: boolean
  /** Namespaces whose event sources get webhooks. Undefined: all. */
  readonly namespaces?: readonly string[] | undefined
}

/** Returns the route of a request target; undefined if it leads nowhere. The table is in docs/operate/router.md. */
export function routeOf(target: string, { hasWorkflows, namespaces }: RouteRules): Route | undefined {
  // A fragment is not part of a request (RFC 9112, 3.2), and servers differ in what they make of one.
  if (target.includes('#')) return undefined
  const [path = ''] = target.split('?')
  if (path === '/readyz') return { to: 'readyz' }
  if (path === '/healthz') return { to: 'healthz' }
  if (!isPlainPath(path)) return undefined
  if (isBelow(path, '/app-proxy')) return { to: 'app-proxy', path: target }
  if (hasWorkflows && isBelow(path, '/workflows')) return toWorkflows(target)
  if (isBelow(path, '/webhooks')) return toEventSource(target, path, namespaces)
  return undefined
}

function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`)
}

/** Begins a path that a browser takes for another host, if the service puts it into a redirect. */
const DOUBLE_SLASH = /^\/(?:[/\\]|%2f|%5c)/i

/** The Argo server does not know the prefix. It makes links with it (`BASE_HREF`). */
function toWorkflows(target: string): Route | undefined {
  const rest = target.slice('/workflows'.length)
  if (!rest.startsWith('/')) return { to: 'redirect', location: `/workflows/${rest}` }
  return DOUBLE_SLASH.test(rest) ? undefined : { to: 'workflows', path: rest }
}

/** A label of DNS (RFC 1123, 2.1), in lower case as in Kubernetes. */
export const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** An encoded slash or backslash, however often it is encoded. */
const ENCODED_SLASH = /%(?:25)*(?:2f|5c)/i

/** `/webhooks/NAMESPACE/NAME`, and paths below it. Both become part of the name of a host, so they are labels of DNS and nothing else. */
function toEventSource(target: string, path: string, namespaces: RouteRules['namespaces']): Route | undefined {
  if (path.includes('\\') || ENCODED_SLASH.test(path)) return undefined
  const [, , namespace = '', name = ''] = path.split('/').map((segment) => decodeOnce(segment) ?? '')
  if (!LABEL.test(namespace) || !LABEL.test(name) || !LABEL.test(serviceOf(name))) return undefined
  if (namespaces !== undefined && !namespaces.includes(namespace)) return undefined
  return { to: 'event-source', path: target, namespace, name }
}

/** Returns the name of the Service of an event source, which Argo Events creates. */
export function serviceOf(eventSource: string): string {
  return `${eventSource}-eventsource-svc`
}
