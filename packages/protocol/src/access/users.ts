/** Users, service accounts, invitations and passwords. */
import { z } from 'zod'
import { Id, PageQuery, Time } from '../base.ts'
import { ApiKeyCreated } from '../pipelines/resources.ts'
import { InstallationRole, PipelineRoles, ProjectRoles, Role } from './roles.ts'

/** Name for the sign-in. An e-mail address in lower case is a name, too. */
export const UserName = z
  .string()
  .min(1)
  .max(100)
  .regex(
    /^[a-z0-9][a-z0-9._@-]*$/,
    'must start with a lower-case letter or a digit and contain only lower-case letters, digits and . _ @ -',
  )

/** The new password of a user. */
export const NewPassword = z.string().min(12, 'must have at least 12 characters').max(200, 'must have at most 200 characters')

/** A service account acts only with API keys. It has no password and no sessions. */
export const USER_KINDS = ['user', 'service-account'] as const
export const UserKind = z.enum(USER_KINDS)
export type UserKind = z.infer<typeof UserKind>

const DisplayName = z.string().max(150)
const Subject = z.string().min(1).max(300)

export const User = z.object({
  id: Id,
  kind: UserKind,
  name: z.string(),
  displayName: z.string().optional(),
  role: InstallationRole,
  projects: z.record(z.string(), Role),
  /** Name of the pipeline -> role for it. Earlier versions omit it. */
  pipelines: z.record(z.string(), Role).optional(),
  /** Names of the teams, whose roles the user has as well. */
  teams: z.array(z.string()).optional(),
  /** Id at the OpenID Connect provider of the server, if the user signs in through it. */
  subject: z.string().optional(),
  /** `invited`: has no password and no subject, and never signed in. `disabled`: cannot sign in, and the keys are refused. */
  state: z.enum(['active', 'invited', 'disabled']),
  createdAt: Time,
  /** Time of the latest sign-in: with the password, through the provider, or with a key or a sign-in link of the user. */
  signedInAt: Time.optional(),
})
export type User = z.infer<typeof User>

/** A user after a role was granted. A caller who may not see users gets only the name and the granted role. */
export const UserGranted = User.partial({ id: true, kind: true, role: true, state: true, createdAt: true })
export type UserGranted = z.infer<typeof UserGranted>

export const UserInput = z.strictObject({
  kind: UserKind.default('user'),
  name: UserName,
  displayName: DisplayName.optional(),
  role: InstallationRole.default('viewer'),
  projects: ProjectRoles.default({}),
  pipelines: PipelineRoles.default({}),
  /** Absent: the answer has an invitation with which the user sets a password. */
  password: NewPassword.optional(),
})

/** Omitted fields keep their value. */
export const UserChange = z.strictObject({
  displayName: DisplayName.optional(),
  role: InstallationRole.optional(),
  /** Replaces the roles in all projects. */
  projects: ProjectRoles.optional(),
  /** Replaces the roles for all pipelines. */
  pipelines: PipelineRoles.optional(),
  disabled: z.boolean().optional(),
  /** Links the user to this id at the OpenID Connect provider. Null unlinks it. */
  subject: Subject.nullable().optional(),
})

export const UserQuery = PageQuery.extend({ kind: UserKind.optional() })

/** A one-time code with which a user sets a password. */
export const Invitation = z.object({ code: z.string(), expiresAt: Time })
export type Invitation = z.infer<typeof Invitation>

export const UserCreated = User.extend({ invitation: Invitation.optional() })
export type UserCreated = z.infer<typeof UserCreated>

export const InvitationInput = z.strictObject({ code: z.string().min(1).max(300), password: NewPassword })

export const PasswordChange = z.strictObject({ current: z.string().max(200), password: NewPassword })

/** A role in a project or for a pipeline. */
export const RoleGrant = z.strictObject({ role: Role })

/** Ends all sessions of the caller; with `user`, those of that user. */
export const SessionsQuery = z.object({ user: UserName.optional() })
export const SessionsEnded = z.object({ ended: z.int() })

/** Login of a command line through a browser: the command polls with its secret while the user confirms the short code. */
export const DeviceCodeInput = z.strictObject({
  /** What asks, for the page that confirms: a program and a machine. */
  client: z.string().min(1).max(100),
})
export const DeviceCode = z.object({
  /** Secret of the command. */
  deviceCode: z.string(),
  /** What the user types: eight letters with a hyphen. */
  userCode: z.string(),
  /** Page that confirms the code. */
  url: z.string(),
  expiresAt: Time,
  /** Time between two polls. Milliseconds. */
  intervalMs: z.int(),
})
export type DeviceCode = z.infer<typeof DeviceCode>

/** The short code as a user types it: case and hyphens do not matter. */
export const UserCode = z.string().min(8).max(20)
export const DevicePoll = z.strictObject({ deviceCode: z.string().min(1).max(300) })
export const DEVICE_STATES = ['pending', 'approved', 'denied'] as const
export const DeviceRequest = z.object({
  userCode: z.string(),
  client: z.string(),
  /** Network address of the command as the server sees it. */
  address: z.string(),
  state: z.enum(DEVICE_STATES),
  createdAt: Time,
  expiresAt: Time,
})
export type DeviceRequest = z.infer<typeof DeviceRequest>

/** The key is in the answer once the user has approved. The same poll returns the same key until the code expires. */
export const DeviceAnswer = z.object({ state: z.enum(DEVICE_STATES), key: ApiKeyCreated.optional() })
