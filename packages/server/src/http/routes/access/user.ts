/** Routes of users and service accounts, their invitations and passwords, and the login of command lines through a browser. */
import { present } from '../../../builds/lifecycle/view.ts'
import {
  DeviceAnswer,
  DeviceCode,
  DeviceCodeInput,
  DevicePoll,
  DeviceRequest,
  Invitation,
  InvitationInput,
  Name,
  page,
  PasswordChange,
  RoleGrant,
  Session,
  User,
  UserChange,
  UserCode,
  UserCreated,
  UserGranted,
  UserInput,
  UserQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { decideDeviceLogin, pollDeviceLogin, showDeviceLogin, startDeviceLogin } from '../../../identity/sessions/device-codes.ts'
import { mayDo, type Actor } from '../../../identity/actor.ts'
import { acceptInvitation, changePassword, invite } from '../../../identity/users/invitations.ts'
import type { SignInChecks } from '../../../identity/sessions/sign-in.ts'
import {
  changeUser,
  createUser,
  grantRole,
  listUserPage,
  removeUser,
  requireUser,
  showUser,
} from '../../../identity/users/users.ts'
import { NO_PLACE } from '../../../store/places.ts'
import { created, done, ok, route, type Answer, type Route } from '../../route.ts'
import { NO_STORE, SIGN_INS_PER_MINUTE } from './session.ts'

/** The name or id of a user. */
const ByUser = z.object({ name: z.string().min(1).max(100) })
const ByProjectRole = ByUser.extend({ project: Name })
const ByPipelineRole = ByUser.extend({ pipeline: Name })
const ByCode = z.object({ code: UserCode })

/** Logins of command lines per minute and address whose code was wrong. A poll with an expired code counts. */
const POLLS_PER_MINUTE = 60

export function userRoutes(app: App, checks: SignInChecks): Route[] {
  const forget = (keys: readonly string[]): void => {
    for (const key of keys) checks.authenticator.forget(key)
  }
  return [...manage(app, forget), ...grants(app, forget), ...passwords(app, checks), ...deviceLogin(app)]
}

function manage(app: App, forget: (keys: readonly string[]) => void): Route[] {
  return [
    route('GET', '/v1/users', {
      summary: 'List users and service accounts by name',
      allow: 'see-users',
      scope: 'user:read',
      query: UserQuery,
      replies: { 200: page(User) },
      async handle({ query: { cursor, ...filter } }) {
        const items = await listUserPage(app, { ...filter, after: cursor })
        return ok({ items, ...present({ next: items.length === filter.limit ? items.at(-1)?.name : undefined }) })
      },
    }),
    route('POST', '/v1/users', {
      summary: 'Create a user or a service account; a user without a password gets an invitation',
      allow: 'manage-users',
      scope: 'user:write',
      body: UserInput,
      replies: { 201: UserCreated },
      async handle({ body, settle }) {
        const answer = (user: UserCreated): Answer => created(user, NO_STORE)
        return answer(await createUser(app, body, (tx, user) => settle(tx, answer(user))))
      },
    }),
    route('GET', '/v1/users/{name}', {
      summary: 'Show a user or a service account',
      allow: 'see-users',
      scope: 'user:read',
      params: ByUser,
      replies: { 200: User },
      handle: async ({ params }) => ok(await showUser(app, await requireUser(app, app.store.query, params.name))),
    }),
    route('PATCH', '/v1/users/{name}', {
      summary: 'Change the roles or the state of a user; a disabled user is signed out, and the keys are refused',
      allow: 'manage-users',
      scope: 'user:write',
      params: ByUser,
      body: UserChange,
      replies: { 200: User },
      async handle({ params, body }) {
        const { user, keys } = await changeUser(app, params.name, body)
        forget(keys)
        return ok(user)
      },
    }),
    route('DELETE', '/v1/users/{name}', {
      summary: 'Delete a user with keys and sessions',
      allow: 'manage-users',
      scope: 'user:write',
      params: ByUser,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        forget((await removeUser(app, params.name)).keys)
        return done
      },
    }),
    route('POST', '/v1/users/{name}/invitation', {
      summary: 'Create another invitation, which ends earlier ones, for a user who has lost the first one or the password',
      allow: 'manage-users',
      scope: 'user:write',
      params: ByUser,
      replies: { 201: Invitation },
      async handle({ params, settle }) {
        const answer = (invitation: Invitation): Answer => created(invitation, NO_STORE)
        return answer(await invite(app, params.name, (tx, invitation) => settle(tx, answer(invitation))))
      },
    }),
  ]
}

function maySeeUsers(actor: Actor): boolean {
  return mayDo(actor, { right: 'see-users', scope: 'user:read' }, NO_PLACE)
}

function grants(app: App, forget: (keys: readonly string[]) => void): Route[] {
  return [
    route('PUT', '/v1/users/{name}/projects/{project}', {
      summary: 'Give a user a role in a project',
      allow: 'grant-project-roles',
      scope: 'user:write',
      project: 'project',
      params: ByProjectRole,
      body: RoleGrant,
      replies: { 200: UserGranted },
      async handle({ params: { name, project }, body: { role }, actor }) {
        const { user, keys } = await grantRole(app, { user: name, at: { project }, role, mayShow: maySeeUsers(actor) })
        forget(keys)
        return ok(user)
      },
    }),
    route('DELETE', '/v1/users/{name}/projects/{project}', {
      summary: 'Take the role of a user in a project',
      allow: 'grant-project-roles',
      scope: 'user:write',
      project: 'project',
      params: ByProjectRole,
      replies: { 204: 'nothing' },
      async handle({ params: { name, project } }) {
        forget((await grantRole(app, { user: name, at: { project }, role: undefined })).keys)
        return done
      },
    }),
    route('PUT', '/v1/users/{name}/pipelines/{pipeline}', {
      summary: 'Give a user a role for a pipeline',
      allow: 'grant-pipeline-roles',
      scope: 'user:write',
      project: 'pipeline',
      params: ByPipelineRole,
      body: RoleGrant,
      replies: { 200: UserGranted },
      async handle({ params: { name, pipeline }, body: { role }, actor }) {
        const { user, keys } = await grantRole(app, { user: name, at: { pipeline }, role, mayShow: maySeeUsers(actor) })
        forget(keys)
        return ok(user)
      },
    }),
    route('DELETE', '/v1/users/{name}/pipelines/{pipeline}', {
      summary: 'Take the role of a user for a pipeline',
      allow: 'grant-pipeline-roles',
      scope: 'user:write',
      project: 'pipeline',
      params: ByPipelineRole,
      replies: { 204: 'nothing' },
      async handle({ params: { name, pipeline } }) {
        forget((await grantRole(app, { user: name, at: { pipeline }, role: undefined })).keys)
        return done
      },
    }),
  ]
}

function passwords(app: App, checks: SignInChecks): Route[] {
  return [
    route('POST', '/v1/invitations/accept', {
      summary: 'Set the password of the invited user and sign in; sets the session cookie',
      allow: 'public',
      scope: 'none',
      body: InvitationInput,
      perMinute: SIGN_INS_PER_MINUTE,
      replies: { 201: Session },
      async handle({ body, reply: { request } }) {
        const { session, cookie } = await acceptInvitation(app, body, { request, address: request.ip })
        return created(session, { ...NO_STORE, 'set-cookie': cookie })
      },
    }),
    route('PUT', '/v1/password', {
      summary: 'Change the own password and end the other sessions',
      allow: 'signed-in',
      scope: 'key:write',
      body: PasswordChange,
      perMinute: SIGN_INS_PER_MINUTE,
      replies: { 204: 'nothing' },
      async handle({ actor, body }) {
        await changePassword(app, checks.passwords, actor, body)
        return done
      },
    }),
  ]
}

function deviceLogin(app: App): Route[] {
  return [
    route('POST', '/v1/device-codes', {
      summary: 'Start the login of a command line through a browser',
      allow: 'public',
      scope: 'none',
      body: DeviceCodeInput,
      perMinute: POLLS_PER_MINUTE,
      unaudited: 'grants nothing; the decision is recorded',
      replies: { 201: DeviceCode },
      handle: async ({ body, reply: { request } }) =>
        created(await startDeviceLogin(app, { client: body.client, address: request.ip }), NO_STORE),
    }),
    route('POST', '/v1/device-codes/key', {
      summary: 'Get the API key of a login, once a user has approved it',
      allow: 'public',
      scope: 'none',
      body: DevicePoll,
      perMinute: POLLS_PER_MINUTE,
      replies: { 200: DeviceAnswer },
      handle: async ({ body }) => ok(await pollDeviceLogin(app, body.deviceCode), NO_STORE),
    }),
    route('GET', '/v1/device-codes/{code}', {
      summary: 'Show the login of a command line that waits with this short code',
      allow: 'signed-in',
      scope: 'key:write',
      params: ByCode,
      replies: { 200: DeviceRequest },
      handle: async ({ params }) => ok(await showDeviceLogin(app, params.code), NO_STORE),
    }),
    decisionRoute(app, 'approve'),
    decisionRoute(app, 'deny'),
  ]
}

function decisionRoute(app: App, verb: 'approve' | 'deny'): Route {
  return route('POST', `/v1/device-codes/{code}/${verb}`, {
    summary: verb === 'approve' ? 'Let the command line act for the caller' : 'Refuse the login of the command line',
    allow: 'signed-in',
    scope: 'key:write',
    params: ByCode,
    replies: { 200: DeviceRequest },
    handle: async ({ params, actor }) =>
      ok(await decideDeviceLogin(app, actor, { code: params.code, isApproved: verb === 'approve' }), NO_STORE),
  })
}
