/** Users, service accounts and teams, the login of command lines through a browser, and the audit log. */
import {
  AuditChain,
  AuditQuery,
  AuditRecord,
  DeviceAnswer,
  DeviceCode,
  DeviceCodeInput,
  DevicePoll,
  DeviceRequest,
  Invitation,
  InvitationInput,
  page,
  PageQuery,
  PasswordChange,
  RoleGrant,
  Session,
  Team,
  TeamChange,
  TeamInput,
  User,
  UserChange,
  UserCreated,
  UserGranted,
  UserInput,
  UserQuery,
} from '@windlass/protocol'
import { route } from '../route.ts'

export const users = {
  list: route('GET', '/v1/users', { query: UserQuery, answer: page(User) }),
  /** Creates a user or service account. A user without a password gets an invitation, which only this response contains. */
  create: route('POST', '/v1/users', { body: UserInput, answer: UserCreated, isKeyed: true }),
  get: route('GET', '/v1/users/{name}', { answer: User }),
  change: route('PATCH', '/v1/users/{name}', { body: UserChange, answer: User }),
  delete: route('DELETE', '/v1/users/{name}', { answer: 'nothing' }),
  /** Creates another invitation, which ends earlier ones. */
  invite: route('POST', '/v1/users/{name}/invitation', { answer: Invitation, isKeyed: true }),
  grant: route('PUT', '/v1/users/{name}/projects/{project}', { body: RoleGrant, answer: UserGranted }),
  revoke: route('DELETE', '/v1/users/{name}/projects/{project}', { answer: 'nothing' }),
  grantPipeline: route('PUT', '/v1/users/{name}/pipelines/{pipeline}', { body: RoleGrant, answer: UserGranted }),
  revokePipeline: route('DELETE', '/v1/users/{name}/pipelines/{pipeline}', { answer: 'nothing' }),
}

/** Teams, whose roles their members have in addition to their own. */
export const teams = {
  list: route('GET', '/v1/teams', { query: PageQuery, answer: page(Team) }),
  create: route('POST', '/v1/teams', { body: TeamInput, answer: Team, isKeyed: true }),
  get: route('GET', '/v1/teams/{name}', { answer: Team }),
  change: route('PATCH', '/v1/teams/{name}', { body: TeamChange, answer: Team }),
  delete: route('DELETE', '/v1/teams/{name}', { answer: 'nothing' }),
  addMember: route('PUT', '/v1/teams/{name}/members/{user}', { answer: Team }),
  removeMember: route('DELETE', '/v1/teams/{name}/members/{user}', { answer: Team }),
}

/** Passwords of users. */
export const passwords = {
  /** Sets the password of the invited user. The response sets the cookie of a session. Throws `unauthenticated`. */
  acceptInvitation: route('POST', '/v1/invitations/accept', { body: InvitationInput, answer: Session }),
  /** Changes the own password and ends the other sessions. Throws `unauthenticated` for a wrong current password. */
  change: route('PUT', '/v1/password', { body: PasswordChange, answer: 'nothing' }),
}

/** The login of a command line, which a user confirms in a browser. */
export const deviceLogins = {
  start: route('POST', '/v1/device-codes', { body: DeviceCodeInput, answer: DeviceCode }),
  /** Returns the key once a user has approved. The same poll returns the same key. Throws `unauthenticated` when the code has expired. */
  poll: route('POST', '/v1/device-codes/key', { body: DevicePoll, answer: DeviceAnswer }),
  get: route('GET', '/v1/device-codes/{code}', { answer: DeviceRequest }),
  approve: route('POST', '/v1/device-codes/{code}/approve', { answer: DeviceRequest }),
  deny: route('POST', '/v1/device-codes/{code}/deny', { answer: DeviceRequest }),
}

export const audit = {
  list: route('GET', '/v1/audit', { query: AuditQuery, answer: page(AuditRecord) }),
  /** Returns where the chain of hashes begins and ends. */
  chain: route('GET', '/v1/audit/chain', { answer: AuditChain }),
}
