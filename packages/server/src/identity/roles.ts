/** Roles in projects and for pipelines, as users, service accounts and teams get and show them. */
import { fault } from '@windlass/kit'
import { MAX_ROLE_PLACES, type Role } from '@windlass/protocol'
import type { App } from '../app.ts'
import { findPipeline } from '../store/account/pipelines.ts'
import { findProject } from '../store/account/projects.ts'
import {
  deletePipelineRoles,
  deleteProjectRoles,
  listPipelineRoles,
  listProjectRoles,
  setPipelineRole,
  setProjectRole,
} from '../store/account/roles.ts'
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

/** Replaces the roles of a user, service account or team. Throws `not-found` for an unknown project or pipeline. */
export async function putRoles(app: App, tx: Tx, subjectId: string, { projects, pipelines }: RoleChange): Promise<void> {
  if (projects !== undefined) {
    await deleteProjectRoles(tx, { subject_id: subjectId })
    for (const [name, role] of Object.entries(projects))
      await setProjectRole(tx, { subject_id: subjectId, project_id: (await requireProject(app, tx, name)).id }, role)
  }
  if (pipelines === undefined) return
  await deletePipelineRoles(tx, { subject_id: subjectId })
  for (const [name, role] of Object.entries(pipelines))
    await setPipelineRole(tx, { subject_id: subjectId, pipeline_id: (await requirePipeline(app, tx, name)).id }, role)
}

async function requireProject(app: App, tx: Tx, name: string): Promise<{ readonly id: string; readonly name: string }> {
  const project = await findProject(tx.query, app.accountId, name)
  if (project === undefined)
    throw fault('not-found', {
      message: `The project "${name}" does not exist.`,
      hint: 'List them with `windlass get projects`.',
    })
  return project
}

async function requirePipeline(app: App, tx: Tx, name: string): Promise<{ readonly id: string; readonly name: string }> {
  const pipeline = await findPipeline(tx.query, app.accountId, name)
  if (pipeline === undefined)
    throw fault('not-found', {
      message: `The pipeline "${name}" does not exist.`,
      hint: 'List them with `windlass get pipelines`.',
    })
  return pipeline
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
export async function setRole(app: App, tx: Tx, { subjectId: subject_id, at, role }: Grant): Promise<string> {
  if ('project' in at) {
    const { id: project_id, name } = await requireProject(app, tx, at.project)
    if (role !== undefined) requireFree(await listProjectRoles(tx.query, [subject_id]), name, 'projects')
    await setProjectRole(tx, { subject_id, project_id }, role)
    return name
  }
  const { id: pipeline_id, name } = await requirePipeline(app, tx, at.pipeline)
  if (role !== undefined) requireFree(await listPipelineRoles(tx.query, [subject_id]), name, 'pipelines')
  await setPipelineRole(tx, { subject_id, pipeline_id }, role)
  return name
}

function requireFree(held: readonly { readonly name: string }[], name: string, kind: 'projects' | 'pipelines'): void {
  if (held.length < MAX_ROLE_PLACES || held.some((one) => one.name === name)) return
  throw fault('conflict', {
    message: `The roles in ${MAX_ROLE_PLACES} ${kind} are the most that a user can have.`,
    hint: kind === 'projects' ? 'Take a role, or use a role for the installation.' : 'Take a role, or use a role in the project.',
  })
}
