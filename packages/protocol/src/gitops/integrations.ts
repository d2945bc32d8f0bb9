/** Git integrations of a GitOps runtime, as the calls of its app-proxy have them. */
import { z } from 'zod'
import { Time } from '../base.ts'

/** Together with the id of a user it is a part of the name of a Secret. */
export const IntegrationName = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/,
    'must have at most 40 lower-case letters, digits and -, and begin and end with a letter or digit',
  )

/** Who may use an integration. */
export const SHARING_POLICIES = ['ALL_USERS_IN_ACCOUNT', 'ACCOUNT_ADMINS'] as const
export type SharingPolicy = (typeof SHARING_POLICIES)[number]

/** An integration as a caller sends it. The app-proxy knows the providers. */
export const GitIntegrationInput = z.object({
  provider: z.string(),
  /** URL of the forge as people open it. */
  url: z.string(),
  sharingPolicy: z.enum(SHARING_POLICIES).optional(),
})
export type GitIntegrationInput = z.output<typeof GitIntegrationInput>

/** Whose Git token is registered. */
export const GitRegistration = z.object({
  login: z.string(),
  name: z.string().optional(),
  email: z.string().optional(),
  registeredAt: Time,
})
export type GitRegistration = z.output<typeof GitRegistration>

export const GitIntegration = z.object({
  name: IntegrationName,
  provider: z.string(),
  url: z.string(),
  apiUrl: z.string(),
  sharingPolicy: z.string(),
  /** Ids of the users who have registered a Git token. */
  registeredUsers: z.array(z.string()),
  /** True if the runtime has a Git token of its own, for releases. */
  hasRuntimeToken: z.boolean(),
  /** The Git token of the caller. Absent without one. */
  registration: GitRegistration.optional(),
})
export type GitIntegration = z.output<typeof GitIntegration>

export const GitTokenInput = z.strictObject({
  token: z
    .string()
    .min(1)
    .max(4_000)
    .regex(/^[\x21-\x7e]+$/, 'must be the token without spaces'),
  /** Only for forges whose tokens need one. */
  username: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[^\p{Cc}:]+$/u, 'must be a user name')
    .optional(),
})
export type GitTokenInput = z.output<typeof GitTokenInput>
