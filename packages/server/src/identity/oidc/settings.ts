/** Settings of the OpenID Connect provider through which users sign in: `WINDLASS_SERVER_OIDC_*`. */
import { defined, fault, isLoopback, splitList } from '@windlass/kit'
import { higherRole, InstallationRole, Role } from '@windlass/protocol'
import { z } from 'zod'

/** What a group gives: a role for the installation, or roles in projects by name. */
const Grant = z.union([InstallationRole, z.record(z.string().min(1).max(200), Role)])
const GroupRoles = z.record(z.string().min(1).max(500), Grant)

export interface OidcSettings {
  /** URL of the provider, exactly as its tokens name it. */
  readonly issuer: string
  readonly clientId: string
  /** Absent for a public client, which proves itself only with PKCE. */
  readonly clientSecret?: string | undefined
  readonly scopes: readonly string[]
  /** Name of the provider on the sign-in page. */
  readonly name: string
  /** Claim with the groups of the user: a list of texts, or one text. */
  readonly groupsClaim: string
  /** Group -> what it gives. Absent: admins give roles, and a sign-in does not change them. */
  readonly groupRoles?: z.output<typeof GroupRoles> | undefined
  /** Role for the installation of users without a group in `groupRoles`, and of new users. */
  readonly defaultRole: InstallationRole
}

/** The settings as keys of the environment. */
export const OIDC_KEYS = {
  OIDC_ISSUER: z
    .url()
    .refine(isAcceptable, 'must be an https:// URL; http:// only for a loopback address')
    .optional()
    .describe(
      'URL of the OpenID Connect provider through which users sign in, exactly as its tokens name it. Needs OIDC_CLIENT_ID and ADVERTISED_URL. Register ADVERTISED_URL/v1/sessions/oidc/callback as redirect URI of the client.',
    ),
  OIDC_CLIENT_ID: z.string().min(1).optional().describe('Id of the client that is registered at the provider.'),
  OIDC_CLIENT_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe('Secret of the client. A client without a secret proves itself only with PKCE.'),
  OIDC_SCOPES: z
    .string()
    .default('openid,profile,email')
    .refine((text) => splitList(text).includes('openid'), 'must contain openid')
    .describe('Scopes to ask for, separated by commas. Many providers need another one for groups, such as `groups`.'),
  OIDC_NAME: z
    .string()
    .min(1)
    .max(60)
    .optional()
    .describe('Name of the provider on the sign-in page; the host of OIDC_ISSUER if not set.'),
  OIDC_GROUPS_CLAIM: z
    .string()
    .min(1)
    .default('groups')
    .describe('Claim of the ID token or of the user info that contains the groups of the user.'),
  OIDC_ROLES: z
    .string()
    .optional()
    .describe(
      'JSON object of groups: each gives a role for the installation, or roles in projects, such as {"platform": "admin", "shop": {"shop-api": "developer"}}. Roles are then set at each sign-in. If not set, admins give roles.',
    ),
  OIDC_DEFAULT_ROLE: InstallationRole.default('none').describe(
    'Role for the installation of new users and of users without a group in OIDC_ROLES.',
  ),
} as const

const Keys = z.object(OIDC_KEYS)
type Keys = z.output<typeof Keys>

/** Plain HTTP would show codes and tokens to the network. */
function isAcceptable(text: string): boolean {
  const { protocol } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(text))
}

/** Converts the settings; undefined without a provider. Throws `config-invalid` for groups that are not valid, and if a setting is missing. */
export function toOidcSettings(keys: Keys & { readonly ADVERTISED_URL?: string | undefined }): OidcSettings | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_ROLES: roles, ADVERTISED_URL: advertised } = keys
  if (issuer === undefined && clientId === undefined) return undefined
  if (issuer === undefined || clientId === undefined || advertised === undefined)
    throw fault('config-invalid', {
      message: 'WINDLASS_SERVER_OIDC_ISSUER, OIDC_CLIENT_ID and ADVERTISED_URL must be set together.',
      hint: 'Set all of them, or neither OIDC_ISSUER nor OIDC_CLIENT_ID.',
    })
  return {
    issuer,
    clientId,
    scopes: splitList(keys.OIDC_SCOPES),
    name: keys.OIDC_NAME ?? new URL(issuer).host,
    groupsClaim: keys.OIDC_GROUPS_CLAIM,
    defaultRole: keys.OIDC_DEFAULT_ROLE,
    ...defined({ clientSecret: keys.OIDC_CLIENT_SECRET, groupRoles: roles === undefined ? undefined : readGroupRoles(roles) }),
  }
}

function readGroupRoles(text: string): z.output<typeof GroupRoles> {
  const parsed = GroupRoles.safeParse(parseOrUndefined(text))
  if (parsed.success) return parsed.data
  const [first] = parsed.error.issues
  throw fault('config-invalid', {
    message: `WINDLASS_SERVER_OIDC_ROLES is not valid: ${[...(first?.path ?? []), first?.message].join(': ')}.`,
    hint: 'Set a JSON object of groups, such as {"platform": "admin", "shop": {"shop-api": "developer"}}.',
  })
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface GroupGrants {
  readonly role: InstallationRole
  /** Role in each project that the settings name: the highest one of the groups; undefined if no group gives one. */
  readonly projects: ReadonlyMap<string, Role | undefined>
}

/** Returns what the groups of a user give; undefined if admins give the roles. */
export function grantsOf({ groupRoles, defaultRole }: OidcSettings, groups: readonly string[]): GroupGrants | undefined {
  if (groupRoles === undefined) return undefined
  let role: GroupGrants['role'] | undefined
  const projects = new Map<string, Role | undefined>()
  for (const [group, grant] of Object.entries(groupRoles)) {
    const isMember = groups.includes(group)
    if (typeof grant !== 'string') {
      for (const [project, one] of Object.entries(grant)) {
        const known = projects.get(project)
        projects.set(project, isMember ? higherRole(known ?? one, one) : known)
      }
    } else if (isMember) role = higherRole(role ?? grant, grant)
  }
  return { role: role ?? defaultRole, projects }
}
