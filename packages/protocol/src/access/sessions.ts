/** Sessions of browsers, and the one-time codes that start them. */
import { z } from 'zod'
import { Id, Time } from '../base.ts'
import { ApiKey, Owner } from '../pipelines/resources.ts'
import { InstallationRole, RIGHT_NAMES } from './roles.ts'

const Credential = z.string().min(1).max(300)

/** A one-time code, an API key, or the name and password of a user. */
export const SessionInput = z.union([
  z.strictObject({ code: Credential }),
  z.strictObject({ key: Credential }),
  z.strictObject({ name: z.string().min(1).max(100), password: z.string().min(1).max(200) }),
])

/** A session acts for the user or the API key that it was started with, and ends with it. */
export const Session = z.object({
  id: Id,
  /** The API key. Absent if a user has signed in with a password. */
  key: ApiKey.pick({ id: true, name: true, scopes: true }).optional(),
  /** The user, or the owner of the API key. */
  user: Owner.optional(),
  /** Role for the installation. */
  role: InstallationRole,
  /**
   * Rights of the caller for the installation or in at least one project, for what a page offers. Only in the answer of `GET /v1/sessions/current`. The
   * server checks each call.
   */
  may: z.array(z.enum(RIGHT_NAMES)).optional(),
  /**
   * Cursor of `GET /v1/stream` for the topic `account`: the stream sends what changes after this answer, so that a page that reads its lists meanwhile misses nothing. Only
   * in the answers of `POST /v1/sessions` and `GET /v1/sessions/current`.
   */
  cursor: z.string().optional(),
  /** True for the session of the caller. */
  current: z.boolean(),
  createdAt: Time,
  /** Time of its latest call, within a minute. */
  seenAt: Time,
  /** The session ends then at the latest, and earlier if it is not used. */
  expiresAt: Time,
  /** `User-Agent` at the sign-in. */
  client: z.string().optional(),
})
export type Session = z.infer<typeof Session>

export const SessionCode = z.object({ code: z.string(), expiresAt: Time })
export type SessionCode = z.infer<typeof SessionCode>

/** Header that a page must send with calls that change something. Pages of other origins cannot send it. */
export const PAGE_HEADER = 'x-windlass-request'
