/** Routes of applications as their runtimes have them now, and of the operations on them. Each is a call of the app-proxy of the runtime. */
import {
  ApplicationEvent,
  ContainerLog,
  ContainerLogQuery,
  EventQuery,
  page,
  RefreshInput,
  ResourceDifference,
  ResourceKey,
  ResourceManifest,
  ResourceNode,
  RollbackInput,
  RuntimeApplicationDetails,
  SyncInput,
} from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { openRuntimeCalls, type CallRuntime } from '../../../gitops/live/runtime-client.ts'
import { route, type Route } from '../../route.ts'
import { ByApplication, CALLS_AT_ONCE, openAsk } from './ask-application.ts'
import { rolloutRoutes } from './rollouts.ts'

/** A thousand selected objects. */
const MAX_SYNC_BYTES = 262_144
/** Longer than Argo CD may take to compare. Milliseconds. */
const REFRESH_MS = 90_000

/** Longer than the app-proxy waits for Argo CD. Milliseconds. */
const LOG_MS = 40_000

const Events = page(ApplicationEvent)
const Tree = page(ResourceNode)
const Differences = page(ResourceDifference)

export function liveApplicationRoutes(app: App, callRuntime: CallRuntime | undefined): Route[] {
  const ask = openAsk(app, openRuntimeCalls(app.clock, callRuntime))
  const read = { allow: 'see-gitops', scope: 'gitops:read', callsAtOnce: CALLS_AT_ONCE, params: ByApplication } as const
  const change = {
    allow: 'change-gitops',
    scope: 'gitops:write',
    callsAtOnce: CALLS_AT_ONCE,
    params: ByApplication,
    replies: { 200: RuntimeApplicationDetails },
  } as const
  const details = RuntimeApplicationDetails
  return [
    route('GET', '/v1/applications/{id}/live', {
      ...read,
      summary: 'Show an application as its runtime has it now, with the results of its last sync and its history',
      replies: { 200: details },
      handle: (call) => ask(call, { method: 'GET', part: '', answer: details }),
    }),
    route('GET', '/v1/applications/{id}/tree', {
      ...read,
      summary: 'List the objects of an application, and those that they have created',
      replies: { 200: Tree },
      handle: (call) => ask(call, { method: 'GET', part: '/tree', answer: Tree }),
    }),
    route('GET', '/v1/applications/{id}/diff', {
      ...read,
      summary: 'List what a sync of an application would change; values of Secrets are hidden',
      replies: { 200: Differences },
      handle: (call) => ask(call, { method: 'GET', part: '/diff', answer: Differences }),
    }),
    route('GET', '/v1/applications/{id}/resource', {
      ...read,
      summary: 'Show an object of an application as the cluster has it; values of Secrets are hidden',
      query: ResourceKey,
      replies: { 200: ResourceManifest },
      handle: (call) => ask(call, { method: 'GET', part: '/resource', query: call.query, answer: ResourceManifest }),
    }),
    route('GET', '/v1/applications/{id}/events', {
      ...read,
      summary: 'List the events of an application, or of one of its objects',
      query: EventQuery,
      replies: { 200: Events },
      handle: (call) => ask(call, { method: 'GET', part: '/events', query: call.query, answer: Events }),
    }),
    route('GET', '/v1/applications/{id}/logs', {
      ...read,
      summary: 'Show the newest lines of the log of a container of an application',
      query: ContainerLogQuery,
      replies: { 200: ContainerLog },
      handle: (call) => ask(call, { method: 'GET', part: '/logs', query: call.query, timeoutMs: LOG_MS, answer: ContainerLog }),
    }),
    route('POST', '/v1/applications/{id}/sync', {
      ...change,
      summary: 'Let Argo CD apply the source of an application',
      body: SyncInput,
      maxBodyBytes: MAX_SYNC_BYTES,
      handle: (call) => ask(call, { method: 'POST', part: '/sync', body: call.body, answer: details }),
    }),
    route('POST', '/v1/applications/{id}/rollback', {
      ...change,
      summary: 'Let Argo CD apply an earlier deployment of an application, unless it syncs automatically',
      body: RollbackInput,
      handle: (call) => ask(call, { method: 'POST', part: '/rollback', body: call.body, answer: details }),
    }),
    route('POST', '/v1/applications/{id}/refresh', {
      ...change,
      summary: 'Let Argo CD compare an application with its source, and wait for the result',
      body: RefreshInput,
      handle: (call) => ask(call, { method: 'POST', part: '/refresh', body: call.body, timeoutMs: REFRESH_MS, answer: details }),
    }),
    route('POST', '/v1/applications/{id}/terminate', {
      ...change,
      summary: 'End the sync of an application that runs',
      handle: (call) => ask(call, { method: 'POST', part: '/terminate', answer: details }),
    }),
    ...rolloutRoutes(ask),
  ]
}
