/** Scopes of API keys. A key without scopes allows everything that its role allows; a key with scopes only what both allow. */
import { z } from 'zod'

/** `<resource>:read` allows GET, `<resource>:write` allows all methods. */
export const SCOPES = [
  'account:read',
  'account:write',
  'agent:read',
  'agent:write',
  'audit:read',
  'build:read',
  'build:write',
  'certificate:write',
  'cluster:read',
  'cluster:write',
  'context:read',
  'context:write',
  'gitlab-job:read',
  'gitlab-report:write',
  'gitops:read',
  'gitops:write',
  'installation:read',
  'installation:write',
  'key:read',
  'key:write',
  'notification:read',
  'notification:write',
  'pipeline:read',
  'pipeline:write',
  'runtime:read',
  'runtime:write',
  'user:read',
  'user:write',
] as const
export type Scope = (typeof SCOPES)[number]
export const Scope = z.enum(SCOPES)

/** Scopes for the install wizard and the chart. The demo pipeline also needs `DEMO_SCOPES`. */
export const INSTALLER_SCOPES = [
  'agent:write',
  'runtime:write',
  'certificate:write',
  'installation:write',
  'cluster:write',
] as const satisfies readonly Scope[]
/** For the app-proxy of a Runner, beside those of the installer. */
export const APP_PROXY_SCOPES = ['gitops:read', 'gitops:write'] as const satisfies readonly Scope[]
export const DEMO_SCOPES = ['pipeline:write', 'build:write'] as const satisfies readonly Scope[]

/** Returns the scopes of `wanted` that `held` does not include. Returns none if `held` is undefined (a key without scopes). */
export function missingScopes(held: readonly string[] | undefined, wanted: readonly Scope[]): Scope[] {
  if (held === undefined) return []
  return wanted.filter((scope) => !held.includes(scope) && !held.includes(scope.replace(/:read$/, ':write')))
}

/** Scope names of public clients, each optionally with `:read`, `:write` or `:run`. */
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

/** Reads scope names of public clients or our own. `unknown` lists the names that are neither. */
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
