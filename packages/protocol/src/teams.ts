/** Teams. A member has the roles of the team in addition to their own. */
import { z } from 'zod'
import { Id, Name, Time } from './base.ts'
import { InstallationRole, Role } from './roles.ts'
import { UserName } from './users.ts'

const MAX_MEMBERS = 1_000

/** Name of the project -> role in it. */
const ProjectRoles = z.record(Name, Role).refine((roles) => Object.keys(roles).length <= 100, 'must have at most 100 projects')
const Members = z.array(UserName).max(MAX_MEMBERS)

export const Team = z.object({
  id: Id,
  name: z.string(),
  /** Role of the members for the installation. */
  role: InstallationRole,
  projects: z.record(z.string(), Role),
  /** Names of users and service accounts. */
  members: z.array(z.string()),
  createdAt: Time,
})
export type Team = z.infer<typeof Team>

export const TeamInput = z.strictObject({
  name: UserName,
  role: InstallationRole.default('none'),
  projects: ProjectRoles.default({}),
  members: Members.default([]),
})

/** Omitted fields keep their value. */
export const TeamChange = z.strictObject({
  role: InstallationRole.optional(),
  /** Replaces the roles in all projects. */
  projects: ProjectRoles.optional(),
  /** Replaces all members. */
  members: Members.optional(),
})
