/** The calls of the app-proxy of a GitOps runtime, with the token of its caller. */
import {
  ClusterReport,
  ErrandAnswer,
  ErrandClaim,
  ErrandClaimAnswer,
  ErrandReport,
  GitopsAccess,
  GitopsAccessQuestion,
  GitopsCallEnd,
  GitopsCallStart,
  GitopsRuntimeName,
  Id,
  RuntimeReport,
  tolerant,
  type Client,
} from '@windlass/protocol'
import { z } from 'zod'
import { bindCalls, type Calls } from './calls.ts'
import { route } from './route.ts'
import { gitopsRuntimes, gitopsSettings } from './routes/gitops.ts'

export const APP_PROXY_ROUTES = {
  /** Returns who the caller is and what the caller may do at the runtime. */
  access: route('POST', '/v1/gitops-runtimes/{runtime}/access', {
    params: z.object({ runtime: GitopsRuntimeName }),
    body: GitopsAccessQuestion,
    answer: GitopsAccess,
  }),
  /** Announces a call that changes something, before its effect, so that the audit log has it whatever becomes of the app-proxy. */
  beginCall: route('POST', '/v1/gitops-runtimes/{runtime}/calls', {
    params: z.object({ runtime: GitopsRuntimeName }),
    body: GitopsCallStart,
    answer: 'nothing',
  }),
  runtime: gitopsRuntimes.get,
  settings: gitopsSettings.get,
  chooseSettings: gitopsSettings.put,
}

export type AppProxyCalls = Calls<typeof APP_PROXY_ROUTES>

/** Returns the calls with the token of the client, which is that of the caller of the app-proxy. */
export function appProxyCalls(client: Client): AppProxyCalls {
  return bindCalls(client, APP_PROXY_ROUTES, tolerant)
}

export const CALL_END_ROUTES = {
  /** Reports how a call that was announced has ended. The first report counts. */
  end: route('POST', '/v1/gitops-calls/{id}/end', { params: z.object({ id: Id }), body: GitopsCallEnd, answer: 'nothing' }),
}

export type CallEndCalls = Calls<typeof CALL_END_ROUTES>

/** Returns the calls of the runtime whose token the client has. */
export function callEndCalls(client: Client): CallEndCalls {
  return bindCalls(client, CALL_END_ROUTES, tolerant)
}

export const ERRAND_ROUTES = {
  /** Waits for errands. They have a lease and are handed out again if it ends. */
  claim: route('POST', '/v1/errands/claim', { body: ErrandClaim, answer: ErrandClaimAnswer }),
  /** Reports the result of an errand. The first result counts. */
  report: route('POST', '/v1/errands/{id}/report', { params: z.object({ id: Id }), body: ErrandReport, answer: ErrandAnswer }),
}

export type ErrandCalls = Calls<typeof ERRAND_ROUTES>

/** Returns the calls of the runtime whose token the client has. */
export function errandCalls(client: Client): ErrandCalls {
  return bindCalls(client, ERRAND_ROUTES, tolerant)
}

export const STATUS_ROUTES = {
  /** Says what works and what is broken in the runtime. */
  status: route('PUT', '/v1/gitops-status', { body: RuntimeReport, answer: 'nothing' }),
  /** Sends a chunk of the clusters that Argo CD knows. */
  clusters: route('PUT', '/v1/gitops-clusters', { body: ClusterReport, answer: 'nothing' }),
}

export type StatusCalls = Calls<typeof STATUS_ROUTES>

/** Returns the calls of the runtime whose token the client has. */
export function statusCalls(client: Client): StatusCalls {
  return bindCalls(client, STATUS_ROUTES, tolerant)
}
