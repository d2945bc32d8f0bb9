/** Roles, results, forges and registries as the command line names them. The lists of the protocol are not loaded for the help, because they need its schemas. */
import type { AuditRecord, Forge, InstallationRole, Registry, Role } from '@windlass/protocol'

export const ROLE_NAMES = ['viewer', 'developer', 'maintainer', 'admin'] as const satisfies readonly Role[]
export const INSTALLATION_ROLE_NAMES = ['none', ...ROLE_NAMES] as const satisfies readonly InstallationRole[]
export const AUDIT_RESULT_NAMES = ['done', 'denied', 'failed'] as const satisfies readonly AuditRecord['result'][]
export const FORGE_NAMES = [
  'github',
  'gitlab',
  'bitbucket',
  'bitbucket-server',
  'gitea',
  'azure',
] as const satisfies readonly Forge[]
export const REGISTRY_NAMES = [
  'dockerhub',
  'quay',
  'acr',
  'ecr',
  'gcr',
  'harbor',
  'artifactory',
  'distribution',
  'generic',
] as const satisfies readonly Registry[]
