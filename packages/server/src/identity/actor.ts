/** The callers of the API and what they may call. Everything that is not allowed here is denied. */
import type { Scope } from '@windlass/protocol'

export type Role = 'admin' | 'user' | 'viewer'

/** The steps of a build, authenticated by the key of its attempt (CF_API_KEY). */
export interface StepActor {
  readonly kind: 'build'
  readonly id: string
  readonly accountId: string
  readonly buildId: string
  readonly attempt: number
  readonly name: string
  /** Null if the document of the build is not stored. */
  readonly pipelineId: string | null
  readonly pipeline: string | null
  readonly projectId: string | null
}

export type Actor =
  | { readonly kind: 'nobody' }
  | {
      readonly kind: 'key'
      readonly id: string
      readonly accountId: string
      readonly name: string
      readonly role: Role
      /** Limits the key; if undefined, it may do everything that its role allows. */
      readonly scopes?: readonly Scope[] | undefined
      /** Id of the session if a browser acts for the key. */
      readonly session?: string
    }
  | StepActor
  | { readonly kind: 'agent'; readonly id: string; readonly accountId: string; readonly name: string }
  | {
      readonly kind: 'bootstrap' | 'attempt'
      readonly id: string
      readonly accountId: string
      readonly buildId: string
      readonly attempt: number
    }

/** Returns one name per credential, for limits per caller. */
export function callerOf(actor: Actor): string {
  return actor.kind === 'nobody' ? actor.kind : `${actor.kind} ${actor.id}`
}

/**
 * The permission that a route requires. `public`: none. A role: that role or a higher one. `runner`: an admin or an agent. The others: exactly
 * that kind of credential. `any-attempt` also accepts the token of an attempt that has ended. `step-rights.ts` lists what steps of a build may call.
 */
export type Permission = 'public' | 'runner' | Role | 'agent' | 'bootstrap' | 'attempt' | 'any-attempt'

const RANK: Readonly<Record<Role, number>> = { viewer: 1, user: 2, admin: 3 }

export function isAllowed(actor: Actor, permission: Permission): boolean {
  switch (permission) {
    case 'public':
      return true
    case 'runner':
      return actor.kind === 'agent' || isAllowed(actor, 'admin')
    case 'viewer':
    case 'user':
    case 'admin':
      return actor.kind === 'key' && RANK[actor.role] >= RANK[permission]
    case 'agent':
    case 'bootstrap':
    case 'attempt':
      return actor.kind === permission
    case 'any-attempt':
      return actor.kind === 'attempt'
  }
}
