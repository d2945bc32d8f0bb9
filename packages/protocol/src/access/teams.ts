/** Teams. A member has the roles of the team in addition to their own. */
import { z } from 'zod'
import { Id, Time } from '../base.ts'
import { InstallationRole, PipelineRoles, ProjectRoles, Role } from './roles.ts'
import { UserName } from './users.ts'

const MAX_MEMBERS = 1_000
const Members = z.array(UserName).max(MAX_MEMBERS)

export const Team = z.object({
  id: Id,
  name: z.string(),
  /** Role of the members for the installation. */
  role: InstallationRole,
  projects: z.record(z.string(), Role),
  /** Name of the pipeline -> role for it. Earlier versions omit it. */
  pipelines: z.record(z.string(), Role).optional(),
  /** Names of users and service accounts. */
  members: z.array(z.string()),
  createdAt: Time,
})
export type Team = z.infer<typeof Team>

export const TeamInput = z.strictObject({
  name: UserName,
  role: InstallationRole.default('none'),
  projects: ProjectRoles.default({}),
  pipelines: PipelineRoles.default({}),
  members: Members.default([]),
})

/** Omitted fields keep their value. */
export const TeamChange = z.strictObject({
  role: InstallationRole.optional(),
  /** Replaces the roles in all projects. */
  projects: ProjectRoles.optional(),
  /** Replaces the roles for all pipelines. */
  pipelines: PipelineRoles.optional(),
  /** Replaces all members. */
  members: Members.optional(),
})
