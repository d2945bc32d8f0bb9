/** Roles in projects and for pipelines, as users, service accounts and teams get and show them. */
import { fault } from '@windlass/kit'
import { MAX_ROLE_PLACES, type Role } from '@windlass/protocol'
import type { App } from '../app.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import { findProject } from '../store/pipelines/projects.ts'
import {
  deletePipelineRoles,
  deleteProjectRoles,
  listPipelineRoles,
  listProjectRoles,
  setPipelineRole,
  setProjectRole,
} from '../store/access/roles.ts'
import type { Query, Tx } from '../store/store.ts'

type Roles = Readonly<Record<string, Role>>

/** Names of projects and pipelines with the role there. */
export interface PlaceRoles {
  readonly projects: Record<string, Role>
  readonly pipelines: Record<string, Role>
}

export const NO_ROLES: PlaceRoles = { projects: {}, pipelines: {} }

/** Reads the roles of users, service accounts or teams in projects and for pipelines. Subjects without such roles are missing. */
export async function readPlaceRoles(query: Query, subjectIds: readonly string[]): Promise<Map<string, PlaceRoles>> {
  const found = new Map<string, PlaceRoles>()
  const of = (id: string): PlaceRoles => {
    const roles = found.get(id) ?? { projects: {}, pipelines: {} }
    found.set(id, roles)
    return roles
  }
  for (const { subject_id: id, name, role } of await listProjectRoles(query, subjectIds)) of(id).projects[name] = role
  for (const { subject_id: id, name, role } of await listPipelineRoles(query, subjectIds)) of(id).pipelines[name] = role
  return found
}

interface RoleChange {
  /** Undefined keeps them. */
  readonly projects?: Roles | undefined
  readonly pipelines?: Roles | undefined
}

/** A kind of place: its name in messages, and how places and the roles there are found and stored. `id` is that of the place. */
interface PlaceKind {
  readonly one: string
  find(query: Query, accountId: string, name: string): Promise<Named | undefined>
  list(query: Query, subjectIds: readonly string[]): Promise<readonly Pick<Named, 'name'>[]>
  set(tx: Tx, subjectId: string, id: string, role: Role | undefined): Promise<void>
  clear(tx: Tx, subjectId: string): Promise<void>
  /** What to do instead of giving a role in one more place. */
  readonly otherwise: string
}

interface Named {
  readonly id: string
  readonly name: string
}

const KINDS: Readonly<Record<'projects' | 'pipelines', PlaceKind>> = {
  projects: {
    one: 'project',
    find: findProject,
    list: listProjectRoles,
    set: (tx, subject_id, project_id, role) => setProjectRole(tx, { subject_id, project_id }, role),
    clear: (tx, subject_id) => deleteProjectRoles(tx, { subject_id }),
    otherwise: 'use a role for the installation',
  },
  pipelines: {
    one: 'pipeline',
    find: findPipeline,
    list: listPipelineRoles,
    set: (tx, subject_id, pipeline_id, role) => setPipelineRole(tx, { subject_id, pipeline_id }, role),
    clear: (tx, subject_id) => deletePipelineRoles(tx, { subject_id }),
    otherwise: 'use a role in the project',
  },
}

/** Replaces the roles of a user, service account or team. Throws `not-found` for an unknown project or pipeline. */
export async function putRoles(app: App, tx: Tx, subjectId: string, change: RoleChange): Promise<void> {
  for (const kind of ['projects', 'pipelines'] as const) {
    const roles = change[kind]
    if (roles === undefined) continue
    await KINDS[kind].clear(tx, subjectId)
    for (const [name, role] of Object.entries(roles))
      await KINDS[kind].set(tx, subjectId, (await requirePlace(app, tx, kind, name)).id, role)
  }
}

async function requirePlace(app: App, tx: Tx, kind: keyof typeof KINDS, name: string): Promise<Named> {
  const place = await KINDS[kind].find(tx.query, app.accountId, name)
  if (place === undefined)
    throw fault('not-found', {
      message: `The ${KINDS[kind].one} "${name}" does not exist.`,
      hint: `List them with \`windlass get ${kind}\`.`,
    })
  return place
}

/** Describes roles for the audit log: `, projects shop: viewer, pipelines shop/app: admin`. */
export function describeRoles({ projects = {}, pipelines = {} }: RoleChange): string {
  return Object.entries({ projects, pipelines })
    .map(([kind, roles]): string => {
      const each = Object.entries(roles).map(([name, role]) => `${name}: ${role}`)
      return each.length === 0 ? '' : `, ${kind} ${each.join(', ')}`
    })
    .join('')
}

/** The name or id of a project or pipeline. */
export type RolePlace = { readonly project: string } | { readonly pipeline: string }

interface Grant {
  readonly subjectId: string
  readonly at: RolePlace
  /** Undefined takes the role. */
  readonly role: Role | undefined
}

/**
 * Gives a role in a project or for a pipeline, or takes it, and returns the name of the place. Throws `not-found`, and `conflict` if the subject already has
 * roles in the largest number of places.
 */
export async function setRole(app: App, tx: Tx, { subjectId, at, role }: Grant): Promise<string> {
  const [kind, wanted] = 'project' in at ? (['projects', at.project] as const) : (['pipelines', at.pipeline] as const)
  const { id, name } = await requirePlace(app, tx, kind, wanted)
  if (role !== undefined) requireFree(await KINDS[kind].list(tx.query, [subjectId]), name, kind)
  await KINDS[kind].set(tx, subjectId, id, role)
  return name
}

function requireFree(held: readonly Pick<Named, 'name'>[], name: string, kind: keyof typeof KINDS): void {
  if (held.length < MAX_ROLE_PLACES || held.some((one) => one.name === name)) return
  throw fault('conflict', {
    message: `The roles in ${MAX_ROLE_PLACES} ${kind} are the most that a user can have.`,
    hint: `Take a role, or ${KINDS[kind].otherwise}.`,
  })
}
