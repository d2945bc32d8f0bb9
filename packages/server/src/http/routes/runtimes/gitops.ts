/** Routes of GitOps runtimes, their tokens and tunnels. The shapes are documented in `protocol/gitops.ts`. */
import {
  GitopsAccess,
  GitopsAccessQuestion,
  GitopsCallEnd,
  GitopsCallStart,
  GitopsRuntime,
  GitopsRuntimeName,
  GitopsSettings,
  GitopsSettingsInput,
  GitopsToken,
  GitopsTokenCreated,
  Id,
  GitopsTokenInput,
  page,
  RuntimeErrorsInput,
  Tunnel,
} from '@windlass/protocol'
import { fault } from '@windlass/kit'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { describeAccess } from '../../../gitops/access.ts'
import { beginRuntimeCall, endRuntimeCall } from '../../../gitops/calls.ts'
import { disconnectTunnel, listShownTunnels, showTunnel } from '../../../gitops/registry.ts'
import { createGitopsToken, deleteToken, listTokens, removeGitopsRuntime } from '../../../gitops/runtimes.ts'
import { listShownRuntimes, putRuntimeErrors, showRuntime } from '../../../gitops/show-runtimes.ts'
import { chooseSharedRepository, readGitopsSettings, resetGitopsSettings } from '../../../gitops/settings.ts'
import { nameOf } from '../../../identity/actor.ts'
import { toCaller } from '../../audited-call.ts'
import { created, done, ok, route, type Route } from '../../route.ts'

const ByRuntime = z.object({ runtime: z.string().min(1).max(100) })
const ById = z.object({ id: Id })
const NewRuntime = z.object({ runtime: GitopsRuntimeName })
const ByToken = ByRuntime.extend({ id: z.string().min(1).max(100) })

export function gitopsRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/tunnels', {
      summary: 'List the tunnels of GitOps runtimes, by name',
      allow: 'see-gitops',
      scope: 'gitops:read',
      replies: { 200: page(Tunnel) },
      handle: async () => ok({ items: await listShownTunnels(app) }),
    }),
    route('GET', '/v1/tunnels/{runtime}', {
      summary: 'Show the tunnel of a GitOps runtime',
      allow: 'see-gitops',
      scope: 'gitops:read',
      params: ByRuntime,
      replies: { 200: Tunnel },
      handle: async ({ params }) => ok(await showTunnel(app, params.runtime)),
    }),
    route('POST', '/v1/tunnels/{runtime}/disconnect', {
      summary: 'End the connection of a GitOps runtime; its client connects again a minute later',
      allow: 'manage-gitops',
      scope: 'gitops:write',
      params: ByRuntime,
      replies: { 200: Tunnel },
      handle: async ({ params }) => ok(await disconnectTunnel(app, params.runtime)),
    }),
    route('GET', '/v1/gitops-settings', {
      summary: 'Show the settings of the account for GitOps: its shared configuration repository',
      allow: 'see-gitops',
      scope: 'gitops:read',
      replies: { 200: GitopsSettings },
      handle: async () => ok(await readGitopsSettings(app.store.query, app.accountId)),
    }),
    route('PUT', '/v1/gitops-settings', {
      summary:
        'Choose the shared configuration repository, unless the account has another one; app-proxies call this after they have checked it',
      allow: 'manage-gitops',
      scope: 'gitops:write',
      body: GitopsSettingsInput,
      replies: { 200: GitopsSettings },
      handle: async ({ body, actor }) => ok(await chooseSharedRepository(app, { ...body, by: nameOf(actor) })),
    }),
    route('DELETE', '/v1/gitops-settings', {
      summary: 'Forget the shared configuration repository; its files stay',
      allow: 'manage-gitops',
      scope: 'gitops:write',
      replies: { 204: 'nothing' },
      async handle() {
        await resetGitopsSettings(app)
        return done
      },
    }),
    route('GET', '/v1/gitops-runtimes', {
      summary: 'List the GitOps runtimes by name',
      allow: 'see-gitops',
      scope: 'gitops:read',
      replies: { 200: page(GitopsRuntime) },
      handle: async () => ok({ items: await listShownRuntimes(app) }),
    }),
    route('GET', '/v1/gitops-runtimes/{runtime}', {
      summary: 'Show a GitOps runtime',
      allow: 'see-gitops',
      scope: 'gitops:read',
      params: ByRuntime,
      replies: { 200: GitopsRuntime },
      handle: async ({ params }) => ok(await showRuntime(app, params.runtime)),
    }),
    route('PUT', '/v1/gitops-runtimes/{runtime}/errors', {
      summary: 'Replace the errors of the installation of a GitOps runtime',
      allow: 'manage-gitops',
      scope: 'gitops:write',
      params: ByRuntime,
      body: RuntimeErrorsInput,
      replies: { 200: GitopsRuntime },
      handle: async ({ params, body }) => ok(await putRuntimeErrors(app, params.runtime, body.errors)),
    }),
    route('DELETE', '/v1/gitops-runtimes/{runtime}', {
      summary: 'Delete a GitOps runtime with its tokens, and end its connection',
      allow: 'manage-gitops',
      scope: 'gitops:write',
      params: ByRuntime,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeGitopsRuntime(app, params.runtime)
        return done
      },
    }),
    route('POST', '/v1/gitops-runtimes/{runtime}/access', {
      summary: 'Show what the caller may do at a GitOps runtime; its app-proxy calls this with the token of its caller',
      allow: 'runtime-caller',
      scope: 'gitops:read',
      unaudited: 'It changes nothing: the token of the runtime is in the body, so that no log has it.',
      params: NewRuntime,
      body: GitopsAccessQuestion,
      maxBodyBytes: 4_096,
      replies: { 200: GitopsAccess },
      handle: async ({ params, body, actor }) =>
        ok(await describeAccess(app, actor, { runtime: params.runtime, runtimeToken: body.runtimeToken })),
    }),
    route('POST', '/v1/gitops-runtimes/{runtime}/calls', {
      summary:
        'Announce a call at the app-proxy of a GitOps runtime that changes something; the app-proxy calls this with the token of its caller',
      allow: 'runtime-caller',
      // The handler checks the scope, so that the audit log has the refusal.
      scope: 'none',
      unaudited: 'The record is that of the call at the app-proxy, and is written with its end.',
      params: NewRuntime,
      body: GitopsCallStart,
      maxBodyBytes: 4_096,
      replies: { 204: 'nothing' },
      async handle({ params, body, actor, reply }) {
        await beginRuntimeCall(app, { actor, caller: toCaller(actor), runtime: params.runtime, address: reply.request.ip }, body)
        return done
      },
    }),
    route('POST', '/v1/gitops-calls/{id}/end', {
      summary: 'Report how a call at the app-proxy of a GitOps runtime has ended, with a token of the runtime',
      allow: 'gitops-runtime',
      scope: 'none',
      unaudited: 'It writes the record of the call at the app-proxy.',
      params: ById,
      body: GitopsCallEnd,
      maxBodyBytes: 4_096,
      replies: { 204: 'nothing' },
      async handle({ params, body, actor }) {
        if (actor.kind !== 'gitops-runtime') throw fault('forbidden')
        await endRuntimeCall(app, actor.runtimeId, { id: params.id, end: body })
        return done
      },
    }),
    route('GET', '/v1/gitops-runtimes/{runtime}/tokens', {
      summary: 'List the tokens of a GitOps runtime',
      allow: 'see-gitops',
      scope: 'gitops:read',
      params: ByRuntime,
      replies: { 200: page(GitopsToken) },
      handle: async ({ params }) => ok({ items: await listTokens(app, params.runtime) }),
    }),
    route('POST', '/v1/gitops-runtimes/{runtime}/tokens', {
      summary: 'Create a token of a GitOps runtime, and the runtime if it does not exist',
      allow: 'manage-gitops',
      scope: 'gitops:write',
      params: NewRuntime,
      body: GitopsTokenInput,
      replies: { 201: GitopsTokenCreated },
      async handle({ params, body, actor, settle }) {
        const wanted = { ...body, runtime: params.runtime, by: nameOf(actor) }
        return created(await createGitopsToken(app, wanted, (tx, token) => settle(tx, created(token))))
      },
    }),
    route('DELETE', '/v1/gitops-runtimes/{runtime}/tokens/{id}', {
      summary: 'Delete a token of a GitOps runtime; a connection that uses it ends',
      allow: 'manage-gitops',
      scope: 'gitops:write',
      params: ByToken,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await deleteToken(app, params.runtime, params.id)
        return done
      },
    }),
  ]
}
