/** The fields of contexts of each type, and which of them are secret. Browser-safe: the server checks by this table, and the page makes its forms from it. */
import type { ContextInput } from '../pipelines/resources.ts'

/** Shown instead of a stored secret; sending it back keeps the stored value. */
export const MASK = '*****'

type ContextType = ContextInput['type']

/** Fields of integrations, public and secret. Contexts of the other types hold variables with any names. */
export const CONTEXT_FIELDS = {
  git: {
    open: ['url', 'username', 'sshKnownHosts', 'oauthForge', 'oauthApp', 'oauthExpiresIn'],
    secret: ['password', 'sshPrivateKey', 'oauthSecret', 'oauthRefreshToken'],
  },
  registry: { open: ['domain', 'username', 'repositoryPrefix', 'primary'], secret: ['password'] },
  kubernetes: { open: ['provider', 'behindFirewall'], secret: ['kubeconfig'] },
  'secret-store': {
    open: ['url', 'mount', 'path', 'namespace', 'runtime', 'resourceType', 'resourceName'],
    secret: ['token'],
  },
} as const satisfies Readonly<
  Partial<Record<ContextType, { readonly open: readonly string[]; readonly secret: readonly string[] }>>
>

/** A type with fixed fields. */
export type IntegrationType = keyof typeof CONTEXT_FIELDS

/** The field that an integration requires. It says where the secret fields are sent, or contains both. */
export const REQUIRED_CONTEXT_FIELD = {
  git: 'url',
  registry: 'domain',
  kubernetes: 'kubeconfig',
  'secret-store': 'url',
} as const satisfies Record<IntegrationType, string>

/** Returns true for types with fixed fields. */
export function isIntegration(type: ContextType): type is IntegrationType {
  return Object.hasOwn(CONTEXT_FIELDS, type)
}

/** Returns true for contexts whose values have any shape. */
export function isYamlContext(type: ContextType): boolean {
  return type === 'yaml' || type === 'secret-yaml'
}

/** Returns true if the server stores the field sealed and shows it as `MASK`. */
export function isSecretContextField(type: ContextType, field: string): boolean {
  if (!isIntegration(type)) return type === 'secret' || type === 'secret-yaml'
  const secret: readonly string[] = CONTEXT_FIELDS[type].secret
  return secret.includes(field)
}
