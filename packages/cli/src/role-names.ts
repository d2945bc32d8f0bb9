/** Roles, results, forges, registries and notifications as the command line names them. The lists of the protocol are not loaded for the help: they need its schemas. */
import type {
  AuditRecord,
  ChannelType,
  Forge,
  InstallationRole,
  MailSecurity,
  NotifyOn,
  Registry,
  Role,
} from '@windlass/protocol'

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
/** Forges that `connect git` creates webhooks at. */
export const CONNECTED_FORGE_NAMES = [
  'github',
  'gitlab',
  'bitbucket',
  'bitbucket-server',
  'gitea',
] as const satisfies readonly Forge[]
export type ConnectedForgeName = (typeof CONNECTED_FORGE_NAMES)[number]
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
export const CHANNEL_NAMES = ['webhook', 'slack', 'teams', 'mail'] as const satisfies readonly ChannelType[]
export const NOTIFY_ON_NAMES = ['failure', 'recovery', 'always', 'approval'] as const satisfies readonly NotifyOn[]
export const MAIL_SECURITY_NAMES = ['starttls', 'tls', 'none'] as const satisfies readonly MailSecurity[]
