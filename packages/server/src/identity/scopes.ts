/** Keys with limited scopes. Each route names the scope that it requires (`http/route.ts`). */
import { fault } from '@windlass/kit'
import { missingScopes, type BuildInput, type Role, type Scope } from '@windlass/protocol'
import type { Actor } from './actor.ts'

/** Throws `scope-missing` with the missing scope if the key of the caller is limited to others. */
export function requireScope(actor: Actor, scope: Scope): void {
  if (actor.kind !== 'key' || actor.scopes === undefined) return
  const missing = missingScopes(actor.scopes, [scope])
  if (missing.length === 0) return
  throw fault('scope-missing', {
    message: `The key "${actor.name}" does not have the scope ${missing.join(', ')}. It has ${actor.scopes.join(', ')}.`,
  })
}

/** The scope for running arbitrary commands with the secrets of a pipeline. It is the scope for changing pipelines, because that gives the same access. */
export const COMMAND_SCOPE: Scope = 'pipeline:write'

/** Throws `scope-missing` if a limited key requests a build with other commands or other secrets than those of its pipeline. */
export function requireFieldScopes(actor: Actor, input: BuildInput): void {
  const { document, contexts = [], debug } = input
  if (document !== undefined || contexts.length > 0 || debug !== undefined) requireScope(actor, COMMAND_SCOPE)
}

/** Returns true if the caller may run arbitrary commands with the secrets of a pipeline. The key of a step may not. */
export function mayRunCommands(actor: Actor): boolean {
  if (actor.kind !== 'key') return actor.kind !== 'build'
  return actor.scopes === undefined || missingScopes(actor.scopes, [COMMAND_SCOPE]).length === 0
}

/**
 * Scopes that give access to all secrets of builds: agents, and authors of runtimes, can get the credentials of engines, and who changes users can become an
 * admin without limits.
 */
const ALL_SECRETS: readonly Scope[] = ['agent:write', 'runtime:write', 'user:write']

/**
 * Throws `scope-missing` if a limited key would grant more than it has: the scopes of the new key must be among its own. Only keys without limits
 * can grant scopes that give access to all secrets of builds, and only to admins (`request-invalid`).
 */
export function requireGrantable(
  actor: Actor,
  { role, scopes = [] }: { role: Role; scopes?: readonly Scope[] | undefined },
): void {
  const strong = scopes.filter((scope) => ALL_SECRETS.includes(scope))
  if (strong.length > 0 && role !== 'admin')
    throw fault('request-invalid', {
      message: `A key with the scope ${strong.join(', ')} requires the role admin.`,
      hint: 'Use the role admin, or leave out the scope.',
    })
  if (actor.kind !== 'key' || actor.scopes === undefined) return
  const missing = missingScopes(actor.scopes, scopes)
  if (scopes.length > 0 && missing.length === 0 && strong.length === 0) return
  if (scopes.length > 0 && missing.length === 0)
    throw fault('scope-missing', {
      message: `The key "${actor.name}" is limited to scopes and cannot grant ${strong.join(', ')}, which gives access to all secrets of builds.`,
      hint: 'Use an admin key without scopes.',
    })
  const lacking = missing.length === 0 ? 'all scopes' : `the scope ${missing.join(', ')}`
  throw fault('scope-missing', { message: `The key "${actor.name}" does not have ${lacking} and cannot grant more than it has.` })
}
