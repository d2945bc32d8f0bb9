/** The callers of the API and what they may call. Everything that is not allowed here is denied. The rights of roles are in `RIGHTS` of the protocol. */
import { fault } from '@windlass/kit'
import {
  missingScopes,
  RIGHT_NAMES,
  RIGHTS,
  roleHasRight,
  type InstallationRole,
  type Owner,
  type Right,
  type Role,
  type Scope,
} from '@windlass/protocol'
import type { Place, Places } from '../store/places.ts'

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

/** An API key, or a user who has signed in with a password. */
export interface KeyActor {
  readonly kind: 'key'
  /** Id of the key, or of the user. */
  readonly id: string
  readonly accountId: string
  /** Name of the key, or of the user. */
  readonly name: string
  /** Role for the installation: the lower one of the key and its owner. */
  readonly role: InstallationRole
  /** Id of the project -> role in it, lowered to the role of the key. */
  readonly projects?: ReadonlyMap<string, Role> | undefined
  /** Id of the pipeline -> role for it, lowered to the role of the key. */
  readonly pipelines?: ReadonlyMap<string, Role> | undefined
  /** The user or service account that it acts for. Undefined for keys of earlier versions. */
  readonly owner?: Owner | undefined
  /** True if a user has signed in with a password. */
  readonly isUser?: true
  /** True if it has all rights of its owner. A key with fewer rights manages no other keys and sessions of its owner. */
  readonly isFull?: boolean
  /** Limits the key; if undefined, it may do everything that its role allows. */
  readonly scopes?: readonly Scope[] | undefined
  /** Id of the session if a browser acts for the key or the user. */
  readonly session?: string
  /** The key is refused from then on. */
  readonly expiresAt?: number | undefined
  /** Id of the only GitOps runtime that may ask for the rights, if the caller has a pass of this server. */
  readonly onlyAt?: string
}

export type Actor =
  | { readonly kind: 'nobody' }
  | KeyActor
  | StepActor
  | { readonly kind: 'agent'; readonly id: string; readonly accountId: string; readonly name: string }
  | {
      readonly kind: 'gitops-runtime'
      /** Id of the token, of which a runtime has several. */
      readonly id: string
      readonly accountId: string
      readonly runtimeId: string
      readonly name: string
    }
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

/** Returns the name of who acts, for builds, approvals and versions: the owner of a key, or the key itself if it has none. */
export function nameOf(actor: Actor): string {
  if (actor.kind === 'key') return actor.owner?.name ?? actor.name
  return actor.kind === 'build' ? actor.name : actor.kind
}

/**
 * The permission that a route requires. `public`: none. A right: a role that has it. `signed-in`: any user or key. `runtime-caller`: the same, also with a pass
 * (`keys/runtime-pass.ts`). `graphql-caller`: any user or key, or a GitOps runtime; the fields check the rest. `runner`: an admin or an agent. `image-reporter`: a GitOps
 * runtime, or who may change it. The others: exactly that kind of credential. `any-attempt` also accepts the token of an attempt that has ended. `step-rights.ts` lists what steps of a build may call.
 */
export type Permission =
  | Right
  | 'public'
  | 'signed-in'
  | 'runtime-caller'
  | 'graphql-caller'
  | 'runner'
  | 'image-reporter'
  | 'agent'
  | 'gitops-runtime'
  | 'bootstrap'
  | 'attempt'
  | 'any-attempt'

/** Returns true if the permission is a right of roles. */
export function isRight(permission: Permission): permission is Right {
  return Object.hasOwn(RIGHTS, permission)
}

const FOR_USERS: ReadonlySet<Permission> = new Set(['signed-in', 'runtime-caller', 'graphql-caller', 'runner', 'image-reporter'])

/** Returns true if users and their keys can have the permission. */
export function isForUsers(permission: Permission): boolean {
  return FOR_USERS.has(permission) || isRight(permission)
}

/** Returns true if the actor may call a route with this permission for every resource. A role in a project or for a pipeline does not count, see `mayActSomewhere`. */
export function isAllowed(actor: Actor, permission: Permission): boolean {
  if (isRight(permission)) return actor.kind === 'key' && roleHasRight(actor.role, permission)
  switch (permission) {
    case 'public':
      return true
    case 'signed-in':
    case 'runtime-caller':
      return actor.kind === 'key'
    case 'graphql-caller':
      return actor.kind === 'key' || actor.kind === 'gitops-runtime'
    case 'runner':
      return actor.kind === 'agent' || isAllowed(actor, 'manage-runners')
    case 'image-reporter':
      return actor.kind === 'gitops-runtime' || isAllowed(actor, 'change-gitops')
    case 'agent':
    case 'gitops-runtime':
    case 'bootstrap':
    case 'attempt':
      return actor.kind === permission
    case 'any-attempt':
      return actor.kind === 'attempt'
  }
}

/** Returns the roles of the actor in the project and for the pipeline of a place. */
function rolesAt(
  { projects, pipelines }: KeyActor,
  { project, pipeline }: Place,
): Record<'project' | 'pipeline', Role | undefined> {
  return {
    project: project === null ? undefined : projects?.get(project),
    pipeline: pipeline === null ? undefined : pipelines?.get(pipeline),
  }
}

/** Returns true if the actor has the right at a place. */
function hasRight(actor: KeyActor, right: Right, place: Place): boolean {
  if (roleHasRight(actor.role, right)) return true
  const { at } = RIGHTS[right]
  const { project, pipeline } = rolesAt(actor, place)
  const isHeld = (role: Role | undefined): boolean => role !== undefined && roleHasRight(role, right)
  return (at !== 'installation' && isHeld(project)) || (at === 'pipeline' && isHeld(pipeline))
}

/** Returns true if a key or user has the right at the place, and the key has the scope. */
export function mayDo(actor: Actor, { right, scope }: { right: Right; scope: Scope }, place: Place): boolean {
  return actor.kind === 'key' && hasRight(actor, right, place) && hasScope(actor, scope)
}

/** Returns true unless the actor is a key that is limited to other scopes. */
export function hasScope(actor: Actor, scope: Scope): boolean {
  return actor.kind !== 'key' || actor.scopes === undefined || missingScopes(actor.scopes, [scope]).length === 0
}

/** Returns true if the actor has the right in at least one project or for at least one pipeline. */
export function mayActSomewhere(actor: Actor, permission: Permission): boolean {
  if (actor.kind !== 'key' || !isRight(permission)) return false
  const { projects, pipelines } = heldPlaces(actor, permission)
  return projects.length > 0 || pipelines.length > 0
}

/** Returns the projects and pipelines in which a role of the actor has the right. */
function heldPlaces({ projects = new Map(), pipelines = new Map() }: KeyActor, right: Right): Places {
  const { at } = RIGHTS[right]
  const held = (roles: ReadonlyMap<string, Role>): string[] =>
    [...roles].filter(([, role]) => roleHasRight(role, right)).map(([id]) => id)
  return { projects: at === 'installation' ? [] : held(projects), pipelines: at === 'pipeline' ? held(pipelines) : [] }
}

/**
 * Throws unless a key or user has the right at the place: `forbidden`, or `not-found` if the caller has no role there at all and must not learn what
 * exists. Does nothing for other kinds of callers, which have no roles.
 */
export function requireRight(actor: Actor, right: Right, place: Place): void {
  if (actor.kind !== 'key' || hasRight(actor, right, place)) return
  const { project, pipeline } = rolesAt(actor, place)
  const isSeen = actor.role !== 'none' || project !== undefined || pipeline !== undefined
  throw isSeen
    ? fault('forbidden', { message: `Only the role ${RIGHTS[right].role} and higher roles may ${RIGHTS[right].text}.` })
    : hidden()
}

/** Returns the rights that the actor has for the installation, in at least one project or for at least one pipeline. */
export function rightsOf(actor: Actor): Right[] {
  return RIGHT_NAMES.filter((right) => isAllowed(actor, right) || mayActSomewhere(actor, right))
}

/** Returns the fault for a resource that does not exist, and for one that the caller must not see. */
export function hidden(): Error {
  return fault('not-found')
}

/** Which keys and sessions an actor may manage: all, those of a user, or only those of one key. */
export interface Manageable {
  readonly ownerId?: string
  readonly keyId?: string
}

/** Returns what the actor may manage: everything for an admin, what belongs to its owner for a user or a full key, itself for another key. */
export function manageableBy(actor: Actor): Manageable {
  if (actor.kind !== 'key') throw fault('forbidden')
  if (isAllowed(actor, 'manage-users')) return {}
  return actor.owner !== undefined && actor.isFull === true ? { ownerId: actor.owner.id } : { keyId: actor.id }
}

/** Returns the projects and pipelines in which the actor has the right; undefined for all resources. */
export function placesOf(actor: Actor, right: Right): Places | undefined {
  return actor.kind !== 'key' || roleHasRight(actor.role, right) ? undefined : heldPlaces(actor, right)
}
