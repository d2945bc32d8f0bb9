/** Roles of users, service accounts and teams in projects and for pipelines. */
import type { Role } from '@windlass/protocol'
import type { PipelineRoleRow, ProjectRoleRow } from '../schema/user-schema.ts'
import type { Query, Tx } from '../store.ts'

export interface NamedProjectRole extends ProjectRoleRow {
  readonly name: string
}

/** Lists the roles of subjects in projects, with the names of the projects. */
export async function listProjectRoles(query: Query, subjectIds: readonly string[]): Promise<NamedProjectRole[]> {
  if (subjectIds.length === 0) return []
  return query
    .selectFrom('project_role')
    .innerJoin('project', 'project.id', 'project_role.project_id')
    .selectAll('project_role')
    .select('project.name')
    .where('project_role.subject_id', 'in', subjectIds)
    .orderBy('project.name')
    .execute()
}

export interface NamedPipelineRole extends PipelineRoleRow {
  readonly name: string
}

/** Lists the roles of subjects for pipelines, with the names of the pipelines. */
export async function listPipelineRoles(query: Query, subjectIds: readonly string[]): Promise<NamedPipelineRole[]> {
  if (subjectIds.length === 0) return []
  return query
    .selectFrom('pipeline_role')
    .innerJoin('pipeline', 'pipeline.id', 'pipeline_role.pipeline_id')
    .selectAll('pipeline_role')
    .select('pipeline.name')
    .where('pipeline_role.subject_id', 'in', subjectIds)
    .orderBy('pipeline.name')
    .execute()
}

/** Gives a role in a project, or takes it if it is undefined. */
export async function setProjectRole(tx: Tx, of: Omit<ProjectRoleRow, 'role'>, role: Role | undefined): Promise<void> {
  await tx.query
    .deleteFrom('project_role')
    .where('subject_id', '=', of.subject_id)
    .where('project_id', '=', of.project_id)
    .execute()
  if (role !== undefined)
    await tx.query
      .insertInto('project_role')
      .values({ ...of, role })
      .execute()
}

/** Gives a role for a pipeline, or takes it if it is undefined. */
export async function setPipelineRole(tx: Tx, of: Omit<PipelineRoleRow, 'role'>, role: Role | undefined): Promise<void> {
  await tx.query
    .deleteFrom('pipeline_role')
    .where('subject_id', '=', of.subject_id)
    .where('pipeline_id', '=', of.pipeline_id)
    .execute()
  if (role !== undefined)
    await tx.query
      .insertInto('pipeline_role')
      .values({ ...of, role })
      .execute()
}

export async function deleteProjectRoles(tx: Tx, by: Partial<Pick<ProjectRoleRow, 'subject_id' | 'project_id'>>): Promise<void> {
  let roles = tx.query.deleteFrom('project_role')
  if (by.subject_id !== undefined) roles = roles.where('subject_id', '=', by.subject_id)
  if (by.project_id !== undefined) roles = roles.where('project_id', '=', by.project_id)
  await roles.execute()
}

export async function deletePipelineRoles(
  tx: Tx,
  by: Partial<Pick<PipelineRoleRow, 'subject_id' | 'pipeline_id'>>,
): Promise<void> {
  let roles = tx.query.deleteFrom('pipeline_role')
  if (by.subject_id !== undefined) roles = roles.where('subject_id', '=', by.subject_id)
  if (by.pipeline_id !== undefined) roles = roles.where('pipeline_id', '=', by.pipeline_id)
  await roles.execute()
}

/** Deletes the roles of a user, service account or team in projects and for pipelines. */
export async function deleteRolesOf(tx: Tx, subjectId: string): Promise<void> {
  await deleteProjectRoles(tx, { subject_id: subjectId })
  await deletePipelineRoles(tx, { subject_id: subjectId })
}
