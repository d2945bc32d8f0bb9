/** What an API key may be limited to. A key without scopes may do all that its role allows; one with scopes only what both allow. */
import { z } from 'zod'

/** `<resource>:read` covers GET, `<resource>:write` all the rest; the read scope is part of the write scope. */
export const SCOPES = [
  'account:read',
  'account:write',
  'agent:read',
  'agent:write',
  'build:read',
  'build:write',
  'certificate:write',
  'cluster:read',
  'cluster:write',
  'context:read',
  'context:write',
  'installation:read',
  'installation:write',
  'key:read',
  'key:write',
  'pipeline:read',
  'pipeline:write',
  'runtime:read',
  'runtime:write',
] as const
export type Scope = (typeof SCOPES)[number]
export const Scope = z.enum(SCOPES)

/** What the install wizard and the chart need; the demo pipeline needs the last two. */
export const INSTALLER_SCOPES = [
  'agent:write',
  'runtime:write',
  'certificate:write',
  'installation:write',
  'cluster:write',
] as const satisfies readonly Scope[]
export const DEMO_SCOPES = ['pipeline:write', 'build:write'] as const satisfies readonly Scope[]

/** Those of `wanted` that `held` does not cover; none when `held` is undefined (a key without scopes). */
export function missingScopes(held: readonly string[] | undefined, wanted: readonly Scope[]): Scope[] {
  if (held === undefined) return []
  return wanted.filter((scope) => !held.includes(scope) && !held.includes(scope.replace(/:read$/, ':write')))
}
