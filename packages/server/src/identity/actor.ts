/** Who calls. Everything not allowed here is denied. */
import type { Scope } from '@windlass/protocol'

export type Role = 'admin' | 'user' | 'viewer'

export type Actor =
  | { readonly kind: 'nobody' }
  | {
      readonly kind: 'key'
      readonly id: string
      readonly accountId: string
      readonly name: string
      readonly role: Role
      /** All that the role allows when absent. */
      readonly scopes?: readonly Scope[] | undefined
    }
  | { readonly kind: 'build'; readonly id: string; readonly accountId: string; readonly buildId: string; readonly name: string }
  | { readonly kind: 'agent'; readonly id: string; readonly accountId: string; readonly name: string }
  | {
      readonly kind: 'bootstrap' | 'attempt'
      readonly id: string
      readonly accountId: string
      readonly buildId: string
      readonly attempt: number
    }

/**
 * What a route asks of its caller: `public` nothing, a role that role or a higher one, the others exactly that kind of credential. The steps of a
 * build may do what a viewer may; `run` is what users and the steps of builds may do, `runner` what admins and agents may.
 */
export type Permission = 'public' | 'run' | 'runner' | Role | 'agent' | 'bootstrap' | 'attempt'

const RANK: Readonly<Record<Role, number>> = { viewer: 1, user: 2, admin: 3 }

export function isAllowed(actor: Actor, permission: Permission): boolean {
  switch (permission) {
    case 'public':
      return true
    case 'run':
      return actor.kind === 'build' || isAllowed(actor, 'user')
    case 'runner':
      return actor.kind === 'agent' || isAllowed(actor, 'admin')
    case 'viewer':
      return actor.kind === 'build' || (actor.kind === 'key' && RANK[actor.role] >= RANK.viewer)
    case 'user':
    case 'admin':
      return actor.kind === 'key' && RANK[actor.role] >= RANK[permission]
    case 'agent':
    case 'bootstrap':
    case 'attempt':
      return actor.kind === permission
  }
}
