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

/** What public clients call their scopes; `:read`, `:write` and `:run` may follow each of them. */
const PUBLIC_NAMES: Readonly<Record<string, readonly string[]>> = {
  agent: ['agent'],
  agents: ['agent'],
  'runner-installation': ['installation', 'runtime', 'certificate', 'cluster'],
  'runtime-environments': ['runtime'],
  cluster: ['cluster'],
  clusters: ['cluster'],
  pipeline: ['pipeline', 'build'],
  project: ['pipeline'],
  'step-type': ['pipeline'],
  build: ['build'],
  workflow: ['build'],
  'shared-configuration': ['context'],
  general: ['account'],
}

/** Scopes by the names that public clients give them, or by ours; `unknown` are those that are neither. */
export function readScopeNames(names: readonly string[]): { scopes: Scope[]; unknown: string[] } {
  const scopes = new Set<Scope>()
  const unknown: string[] = []
  for (const name of names) {
    const [resource = '', verb = 'write'] = name.trim().toLowerCase().split(':')
    const wanted = (PUBLIC_NAMES[resource] ?? [resource]).flatMap((one) => [`${one}:${verb === 'read' ? 'read' : 'write'}`])
    const known = SCOPES.filter((scope) => wanted.includes(scope))
    for (const scope of known) scopes.add(scope)
    if (known.length === 0) unknown.push(name)
  }
  return { scopes: [...scopes], unknown }
}
