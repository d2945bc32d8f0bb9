/** Paths that a tunnel forwards. */
import { isPlainPath } from '../exchange/plain-path.ts'

/** Prefixes of the router of a GitOps runtime. */
export const DEFAULT_PREFIXES = ['/app-proxy', '/workflows', '/webhooks'] as const

/** Returns true for a path that is one of the prefixes or below it. The router might resolve dot segments, encoded ones too, so a path with one is refused. */
export function isAllowedPath(target: string, prefixes: readonly string[]): boolean {
  const [path = ''] = target.split(/[?#]/)
  return isPlainPath(path) && prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
}
