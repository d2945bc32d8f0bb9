/** Whether the server of Argo CD answers, whether it accepts the token of the runtime, and the clusters that it knows. */
import { readFileSync } from 'node:fs'
import { parseJson } from '@windlass/kit'
import type { ArgoCdState, CheckResult, ClientOptions, ClusterState, ConnectionState } from '@windlass/protocol'
import { z } from 'zod'
import { timeOf, wholeText as text } from '../object-fields.ts'
import { cut, failed, ok, unknown } from '../status/results.ts'

const TIMEOUT_MS = 10_000
const MAX_CLUSTERS = 5_000

export interface ArgoServer {
  readonly server: Omit<ClientOptions, 'token'>
  readonly tokenFile: string
}

export interface ArgoState {
  readonly state: ArgoCdState
  readonly message: string
  /** What that says about the token. */
  readonly token: CheckResult
}

const RENEW =
  'Create a token of an account of Argo CD with the right to read applications, and store it in the Secret that `global.integrations.argo-cd.server.auth.tokenSecretKeyRef` names.'

/** Asks the server who has the token. It says so also for a token that it does not accept. */
export async function readArgoState(argo: ArgoServer | undefined, signal: AbortSignal): Promise<ArgoState> {
  if (argo === undefined) {
    const message = 'The runtime has no token of Argo CD, so it does not show the objects of applications.'
    return { state: 'unknown', message, token: unknown(message) }
  }
  const { url } = argo.server
  const token = findToken(argo.tokenFile)
  if (token === undefined) {
    const message = `The file with the token of Argo CD cannot be read: ${argo.tokenFile}.`
    return { state: 'not-authorized', message, token: failed(message, RENEW) }
  }
  const answer = await get({ argo, token, path: '/api/v1/session/userinfo', signal })
  if ('problem' in answer) {
    const message = cut(`Argo CD does not answer at ${url}: ${answer.problem}`)
    return { state: 'not-found', message, token: unknown(message) }
  }
  const { status, body } = answer
  const user = User.safeParse(body).data
  if (status === 200 && user?.loggedIn === true) {
    const message = `Argo CD accepts the token, which is that of ${user.username ?? 'an account without a name'}.`
    return { state: 'connected', message, token: ok(message) }
  }
  if (status === 401 || status === 403 || (status === 200 && user !== undefined)) {
    const message = `Argo CD at ${url} does not accept the token of the runtime.`
    return { state: 'not-authorized', message, token: failed(message, RENEW) }
  }
  const message = `What answers at ${url} is not Argo CD, or is broken: it answered ${status}.`
  return { state: 'not-found', message, token: unknown(message) }
}

const User = z.object({ loggedIn: z.boolean().default(false), username: z.string().optional() })

const count = z
  .union([z.int().nonnegative(), z.string().regex(/^\d+$/).transform(Number)])
  .nullish()
  .catch(undefined)
const Clusters = z.object({
  items: z
    .array(
      z.object({
        name: text,
        server: z.string(),
        info: z
          .object({
            connectionState: z.object({ status: text, message: text, attemptedAt: text }).nullish(),
            serverVersion: text,
            cacheInfo: z.object({ resourcesCount: count }).nullish(),
            applicationsCount: count,
          })
          .nullish(),
      }),
    )
    .max(MAX_CLUSTERS)
    .nullish(),
})

const CONNECTIONS: Readonly<Record<string, ConnectionState>> = { Successful: 'successful', Failed: 'failed' }

/** Returns the clusters that the token may see; none if the server does not answer, or if the token may not read clusters. */
export async function readArgoClusters(argo: ArgoServer | undefined, signal: AbortSignal): Promise<readonly ClusterState[]> {
  const token = argo === undefined ? undefined : findToken(argo.tokenFile)
  if (argo === undefined || token === undefined) return []
  const answer = await get({ argo, token, path: '/api/v1/clusters', signal })
  const { items } = ('problem' in answer ? undefined : Clusters.safeParse(answer.body).data) ?? {}
  return (items ?? []).map(({ name, server, info }) => {
    const { connectionState, serverVersion: version, cacheInfo, applicationsCount } = info ?? {}
    const message = connectionState?.message
    const at = timeOf(connectionState?.attemptedAt)
    return {
      name: name ?? server,
      server,
      connection: {
        state: CONNECTIONS[connectionState?.status ?? ''] ?? 'unknown',
        ...(message !== undefined && { message: cut(message) }),
        ...(at !== undefined && { at }),
      },
      ...(version !== undefined && { version: version.slice(0, 100) }),
      ...(typeof applicationsCount === 'number' && { applications: applicationsCount }),
      ...(typeof cacheInfo?.resourcesCount === 'number' && { resources: cacheInfo.resourcesCount }),
    }
  })
}

interface Question {
  readonly argo: ArgoServer
  readonly token: string
  readonly path: string
  readonly signal: AbortSignal
}

type Reply = { readonly status: number; readonly body: unknown } | { readonly problem: string }

/** Returns the answer with its status, or why there is none. */
async function get({ argo: { server }, token, path, signal }: Question): Promise<Reply> {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
  try {
    const response = await server.transport({ method: 'GET', url: server.url + path, headers, signal, timeoutMs: TIMEOUT_MS })
    return { status: response.status, body: parseJson(await response.text()) }
  } catch (error) {
    if (signal.aborted) throw error
    return { problem: error instanceof Error ? error.message || error.name : String(error) }
  }
}

/** The file is read for each call, so that a replaced token needs no restart. */
function findToken(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}
