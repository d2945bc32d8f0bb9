/**
 * Roles, and the rights that each of them has. Browser-safe. This table is the only place that decides which role may do what: the server checks it,
 * and `docs/reference/roles.md` is made from it.
 */
import { z } from 'zod'
import { Name } from '../base.ts'

/** From the fewest rights to the most. Each role includes the rights of the roles before it. */
export const ROLES = ['viewer', 'developer', 'maintainer', 'admin'] as const
export type Role = (typeof ROLES)[number]
export const Role = z.enum(ROLES)

/** A role as callers send it. `user` is the name of `developer` in earlier versions. */
export const RoleInput = z.enum([...ROLES, 'user']).transform(toRole)

/** Converts a role that an earlier version wrote. */
export function toRole(role: Role | 'user'): Role {
  return role === 'user' ? 'developer' : role
}

/** Role for the whole installation. A user with `none` has only the rights of their roles in projects and for pipelines. */
export const INSTALLATION_ROLES = ['none', ...ROLES] as const
export type InstallationRole = (typeof INSTALLATION_ROLES)[number]
export const InstallationRole = z.enum(INSTALLATION_ROLES)

/** Projects, and pipelines, in which a user, service account or team can have a role. */
export const MAX_ROLE_PLACES = 100

/** Name of the project -> role in it. */
export const ProjectRoles = z
  .record(Name, Role)
  .refine((roles) => Object.keys(roles).length <= MAX_ROLE_PLACES, `must have at most ${MAX_ROLE_PLACES} projects`)

/** Name of the pipeline -> role for it. */
export const PipelineRoles = z
  .record(Name, Role)
  .refine((roles) => Object.keys(roles).length <= MAX_ROLE_PLACES, `must have at most ${MAX_ROLE_PLACES} pipelines`)

interface RightSpec {
  /** The lowest role that has the right. */
  readonly role: Role
  /**
   * Where a role is enough, next to one for the whole installation. `pipeline`: in the project of the resource, or for its pipeline. `project`: in its project.
   * `installation`: nowhere else.
   */
  readonly at: 'installation' | 'project' | 'pipeline'
  /** What the right allows, after "may". */
  readonly text: string
}

export const RIGHTS = {
  'see-pipelines': { role: 'viewer', at: 'pipeline', text: 'see projects, pipelines and step types, and validate documents' },
  'see-builds': { role: 'viewer', at: 'pipeline', text: 'see builds with their steps, images and annotations' },
  'see-logs': { role: 'viewer', at: 'pipeline', text: 'read and follow the logs and events of builds' },
  'see-contexts': { role: 'viewer', at: 'installation', text: 'see contexts, with secret values masked, and webhooks' },
  'see-runners': { role: 'viewer', at: 'installation', text: 'see agents, runtimes, clusters and installations' },
  'see-gitlab-jobs': { role: 'viewer', at: 'installation', text: 'see the jobs of GitLab runners and their managers' },
  'see-gitops': {
    role: 'viewer',
    at: 'installation',
    text: 'see GitOps runtimes with their tunnels and applications, environments, products and releases',
  },
  'see-account': { role: 'viewer', at: 'installation', text: 'see the settings of the account and the metrics' },
  'start-builds': { role: 'developer', at: 'pipeline', text: 'start and restart builds' },
  'end-builds': { role: 'developer', at: 'pipeline', text: 'terminate builds' },
  'decide-approvals': {
    role: 'developer',
    at: 'pipeline',
    text: 'approve and deny steps and builds of forks that wait for approval',
  },
  'debug-builds': { role: 'developer', at: 'pipeline', text: 'set breakpoints and open terminals in steps' },
  'share-builds': {
    role: 'developer',
    at: 'pipeline',
    text: 'create and delete links to logs of builds and to badges, which need no account',
  },
  annotate: { role: 'developer', at: 'pipeline', text: 'change annotations' },
  'use-contexts': { role: 'developer', at: 'pipeline', text: 'use contexts in builds and pipelines' },
  'use-runtimes': { role: 'developer', at: 'pipeline', text: 'choose the runtime of builds and pipelines' },
  'change-pipelines': {
    role: 'developer',
    at: 'pipeline',
    text: 'change and delete pipelines with their triggers; create and rename them with a role in the project',
  },
  'change-notifications': {
    role: 'developer',
    at: 'pipeline',
    text: 'create, change and delete notifications of pipelines and projects',
  },
  'change-step-types': { role: 'developer', at: 'installation', text: 'create, change and delete step types' },
  'change-projects': {
    role: 'maintainer',
    at: 'project',
    text: 'change and delete projects; create them with a role for the installation',
  },
  'change-gitops': {
    role: 'developer',
    at: 'installation',
    text: 'operate applications of GitOps runtimes, and commit through them with their own Git token',
  },
  promote: {
    role: 'developer',
    at: 'installation',
    text: 'start, terminate and retry releases of products, into environments that do not name other teams',
  },
  'share-views': { role: 'maintainer', at: 'installation', text: 'create, change and delete views that all users share' },
  'change-contexts': { role: 'maintainer', at: 'installation', text: 'create, change and delete contexts and webhooks' },
  'report-gitlab-jobs': {
    role: 'maintainer',
    at: 'installation',
    text: 'report the jobs of GitLab runners, with a key that has only the scope `gitlab-report:write`',
  },
  'see-users': { role: 'maintainer', at: 'installation', text: 'see users, service accounts and teams with their roles' },
  'grant-project-roles': { role: 'admin', at: 'project', text: 'give and take roles in the project' },
  'grant-pipeline-roles': { role: 'admin', at: 'pipeline', text: 'give and take roles for the pipeline' },
  'manage-runners': { role: 'admin', at: 'installation', text: 'change agents, runtimes, clusters and installations' },
  'manage-gitops': {
    role: 'admin',
    at: 'installation',
    text: 'create and delete GitOps runtimes and their tokens, disconnect their tunnels, choose their shared repository, delete their Git sources, manage their clusters, and change environments, products and what promotions follow',
  },
  'manage-account': { role: 'admin', at: 'installation', text: 'change the settings of the account and the master keys' },
  'manage-users': {
    role: 'admin',
    at: 'installation',
    text: 'invite, change and delete users, service accounts and teams, and their keys and sessions',
  },
  'set-quotas': { role: 'admin', at: 'installation', text: 'set the quotas of projects' },
  'see-audit': { role: 'admin', at: 'installation', text: 'read the audit log' },
} as const satisfies Record<string, RightSpec>
export type Right = keyof typeof RIGHTS
export const RIGHT_NAMES = Object.keys(RIGHTS) as [Right, ...Right[]]

const RANK: Readonly<Record<InstallationRole, number>> = { none: 0, viewer: 1, developer: 2, maintainer: 3, admin: 4 }

/** Returns true if the role has the right, in the installation, project or pipeline for which the role is held. */
export function roleHasRight(role: InstallationRole, right: Right): boolean {
  return RANK[role] >= RANK[RIGHTS[right].role]
}

/** Returns the role with fewer rights. */
export function lowerRole<A extends InstallationRole, B extends InstallationRole>(one: A, other: B): A | B {
  return RANK[one] <= RANK[other] ? one : other
}

/** Returns the role with more rights. */
export function higherRole<A extends InstallationRole, B extends InstallationRole>(one: A, other: B): A | B {
  return RANK[one] >= RANK[other] ? one : other
}
