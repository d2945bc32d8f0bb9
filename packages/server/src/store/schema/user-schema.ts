/** The rows of users, keys, sessions and the audit log. The rules of `schema.ts` apply. */
import type { InstallationRole, Role } from '@windlass/protocol'

export interface ApiKeyRow {
  id: string
  account_id: string
  name: string
  /** An earlier version writes `user` for `developer`. */
  role: Role | 'user'
  /** JSON: Scope[]; null if the key is limited only by its role. */
  scopes: string | null
  hash: string
  /** The user or service account that it acts for; null for keys of earlier versions. */
  user_id: string | null
  /** Null for keys of earlier versions. */
  created_by: string | null
  created_at: number
  /** The key is refused from then on. */
  expires_at: number | null
}

/** A user or a service account. */
export interface UserRow {
  id: string
  account_id: string
  kind: 'user' | 'service-account'
  /** Unique in the account. */
  name: string
  display_name: string | null
  /** Role for the whole installation. */
  role: InstallationRole
  /** Hash of the password in the PHC format; null for a service account, and until an invitation was accepted. */
  password: string | null
  disabled_at: number | null
  /** Time of the latest sign-in with the password or through the provider. */
  signed_in_at: number | null
  created_at: number
  updated_at: number
}

export interface ProjectRoleRow {
  /** A user, service account or team. */
  subject_id: string
  project_id: string
  role: Role
}

export interface PipelineRoleRow {
  /** A user, service account or team. */
  subject_id: string
  pipeline_id: string
  role: Role
}

export interface TeamRow {
  id: string
  account_id: string
  /** Unique in the account. */
  name: string
  /** Role of the members for the whole installation. */
  role: InstallationRole
  created_at: number
  updated_at: number
}

export interface TeamMemberRow {
  team_id: string
  /** A user or service account. */
  user_id: string
}

/** The subject of an OpenID Connect provider as which a user signs in. */
export interface IdentityRow {
  account_id: string
  issuer: string
  /** Id of the user at the provider. */
  subject: string
  user_id: string
  created_at: number
}

/** A key that signs the ID tokens of steps. */
export interface SigningKeyRow {
  id: string
  account_id: string
  /** JSON Web Key. */
  public_key: string
  /** Sealed JSON Web Key. */
  private_key: string
  /** The key signs from then on, until the time of the next key. */
  signs_from: number
  created_at: number
}

/** A link for people without an account. */
export interface SharedLinkRow {
  id: string
  account_id: string
  kind: 'build' | 'badge'
  /** The build whose status and log it shows; null for a badge. */
  build_id: string | null
  /** The pipeline of the build or badge. */
  pipeline_id: string | null
  /** A role with the right in the project may delete it, and one for the pipeline. */
  project_id: string | null
  hash: string
  created_by: string
  created_at: number
  /** The link is refused from then on; null for a badge without an end. */
  expires_at: number | null
}

/** A code that sets the password of a user once. It is deleted when it is used. */
export interface InvitationRow {
  id: string
  user_id: string
  hash: string
  created_at: number
  expires_at: number
}

/** A login of a command line that a user confirms in a browser. */
export interface DeviceCodeRow {
  id: string
  account_id: string
  /** Hash of the secret that the command has. */
  hash: string
  /** What the user types, without the hyphen. */
  user_code: string
  client: string
  address: string
  state: 'pending' | 'approved' | 'denied'
  /** The user who has approved. */
  user_id: string | null
  /** The key that the first poll after the approval has created. Its secret is derived from the secret of the command. */
  key_id: string | null
  created_at: number
  expires_at: number
}

export interface AuditRow {
  account_id: string
  seq: number
  at: number
  kind: string
  actor_id: string
  actor: string
  owner: string | null
  action: string
  target: string
  result: 'done' | 'denied' | 'failed'
  code: string | null
  detail: string | null
  address: string
  client: string | null
  request_id: string
  hash: string
}

/** The newest record of the audit log, and the newest one that was deleted because of its age. Locked while a record is added. */
export interface AuditChainRow {
  account_id: string
  seq: number
  hash: string
  deleted_seq: number
  deleted_hash: string
}

/** What a user or a key without an owner has set for the page. */
export interface PreferenceRow {
  /** Id of the user, or of the key. */
  owner_id: string
  account_id: string
  /** JSON: Preferences. */
  data: string
  revision: number
  updated_at: number
}

/** A view of the list of builds that all users share. */
export interface SharedViewRow {
  id: string
  account_id: string
  /** Unique in the account. */
  name: string
  /** JSON: ViewFilter. */
  filter: string
  created_by: string
  created_at: number
  updated_at: number
}

export interface SessionRow {
  id: string
  account_id: string
  /** The API key that it acts for; empty if it acts for a user. */
  key_id: string
  /** The user who has signed in with a password or through the provider; null if the session acts for a key. */
  user_id: string | null
  /** Hash of the secret in the cookie, and of the secret before the last rotation. */
  hash: string
  previous_hash: string | null
  /** Equal to `hash` once a call has arrived with the current secret while there is a previous one. */
  used_hash: string | null
  /** `User-Agent` at the sign-in. */
  client: string | null
  created_at: number
  rotated_at: number
  /** Time of its latest call, within a minute. */
  seen_at: number
  expires_at: number
}

/** A code that starts one session. It is deleted when it is used. */
export type SessionCodeRow = Pick<SessionRow, 'id' | 'account_id' | 'key_id' | 'hash' | 'created_at' | 'expires_at'>
