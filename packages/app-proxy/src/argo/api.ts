/**
 * What only the server of Argo CD knows: the objects of applications in all clusters, their logs and events. Its token may only read, and delete single objects; everything else is
 * done with the Application itself.
 */
import { readFileSync } from 'node:fs'
import { defined, fault, isFault, type Clock } from '@windlass/kit'
import { isRecord, parseJson } from '@windlass/kit/json'
import type {
  ApplicationEvent,
  Client,
  EventQuery,
  ContainerLog,
  ContainerLogQuery,
  ResourceDifference,
  ResourceKey,
  ResourceManifest,
  ResourceNode,
} from '@windlass/protocol'
import { z } from 'zod'
import { timeOf, wholeText as text } from '../object-fields.ts'
import { hideSecret } from './hide-secret.ts'
import { readLog } from './log.ts'
import { ApplicationManifest, healthOf } from './manifest.ts'

/** Objects of one application that are read. */
const MAX_OBJECTS = 5_000
const TIMEOUT_MS = 30_000

export interface ArgoApi {
  /** Returns the objects of an application and what those have created. */
  tree(name: string): Promise<readonly ResourceNode[]>
  /** Returns what differs between the source and the cluster. */
  differences(name: string): Promise<readonly ResourceDifference[]>
  /** Returns the last lines of the log of a container. */
  logs(name: string, query: ContainerLogQuery): Promise<ContainerLog>
  /** Returns an application of another namespace. Throws `argo-cd-refused` if it does not exist, or the token does not see it. */
  application(name: string, namespace: string): Promise<ApplicationManifest>
  /** Returns an object as the cluster has it. Throws `not-found`. */
  resource(name: string, key: ResourceKey): Promise<ResourceManifest>
  /** Returns events, newest last. */
  events(name: string, query: EventQuery): Promise<readonly ApplicationEvent[]>
  /** Deletes an object of an application. Throws `not-found`. */
  removeResource(name: string, key: ResourceKey): Promise<void>
}

export interface ArgoApiOptions {
  /** Of the server of Argo CD, without a token. */
  readonly client: Client
  readonly tokenFile: string
  /** Namespace of the applications. */
  readonly namespace: string
  readonly clock: Clock
}

const list = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .max(MAX_OBJECTS)
    .nullish()
    .transform((items) => items ?? [])

const Tree = z.object({
  nodes: list(
    z.object({
      group: text,
      version: text,
      kind: z.string(),
      namespace: text,
      name: z.string(),
      uid: text,
      parentRefs: list(z.object({ uid: text })),
      health: z.object({ status: text, message: text }).nullish(),
      info: list(z.object({ name: z.string(), value: z.string() })),
      images: list(z.string()),
      createdAt: text,
    }),
  ),
})

const Resource = z.object({ manifest: text })

const Managed = z.object({
  items: list(
    z.object({
      group: text,
      kind: z.string(),
      namespace: text,
      name: z.string(),
      hook: z.boolean().nullish(),
      modified: z.boolean().nullish(),
      targetState: text,
      liveState: text,
      normalizedLiveState: text,
      predictedLiveState: text,
    }),
  ),
})

const Events = z.object({
  items: list(
    z.object({
      type: text,
      reason: text,
      message: text,
      count: z.int().nonnegative().nullish(),
      lastTimestamp: text,
      eventTime: text,
    }),
  ),
})

export function openArgoApi({ client, tokenFile, namespace, clock }: ArgoApiOptions): ArgoApi {
  // The token is read for each call, so that a replaced one needs no restart.
  const withToken = (): Client => client.withToken(readToken(tokenFile))
  const pathOf = (name: string, part: string): string => `/api/v1/applications/${encodeURIComponent(name)}/${part}`
  const read = <S extends z.ZodType>(path: string, shape: S, query: object = {}): Promise<z.output<S>> =>
    withToken()
      .call('GET', path, shape, { query: { appNamespace: namespace, ...query }, timeoutMs: TIMEOUT_MS })
      .catch(refuse)

  /** Returns an object of an application. Throws `not-found`. */
  async function find(name: string, key: ResourceKey): Promise<TreeNode> {
    const { nodes } = await read(pathOf(name, 'resource-tree'), Tree)
    const found = nodes.find((node) => isSame(node, key))
    if (found !== undefined) return found
    throw fault('not-found', {
      message: `The application "${name}" has no object ${key.kind} "${key.name}".`,
      hint: 'List its objects with `windlass gitops app tree RUNTIME NAME`.',
    })
  }

  return {
    async tree(name) {
      const { nodes } = await read(pathOf(name, 'resource-tree'), Tree)
      return nodes.map(({ parentRefs, health, createdAt, group, version, namespace: place, uid, ...node }) => ({
        ...node,
        parents: parentRefs.flatMap((parent) => parent.uid ?? []),
        ...defined({
          group,
          version,
          namespace: place,
          uid,
          health: healthOf(health?.status),
          message: health?.message,
          createdAt: timeOf(createdAt),
        }),
      }))
    },
    async differences(name) {
      const { items } = await read(pathOf(name, 'managed-resources'), Managed)
      return items.filter(({ hook }) => hook !== true).flatMap(toDifference)
    },
    async logs(name, { pod, namespace: place, container, tail, previous, since, after }) {
      const query = {
        podName: pod,
        namespace: place,
        container,
        tailLines: tail,
        previous,
        sinceSeconds: after === undefined ? since : secondsSince(after, clock.now()),
        follow: false,
        appNamespace: namespace,
      }
      const limit = { signal: AbortSignal.timeout(TIMEOUT_MS), timeoutMs: TIMEOUT_MS }
      try {
        return await readLog(await withToken().bytes(pathOf(name, 'logs'), { query, ...limit }), { pod, tail })
      } catch (error) {
        if (limit.signal.aborted)
          throw fault('argo-cd-unreachable', { message: 'Argo CD takes too long to send the log.' }, error)
        if (!isFault(error)) throw fault('argo-cd-unreachable', { message: 'Argo CD has ended the log before its end.' }, error)
        return refuse(error)
      }
    },
    application(name, place) {
      const path = `/api/v1/applications/${encodeURIComponent(name)}`
      return withToken()
        .call('GET', path, ApplicationManifest, { query: { appNamespace: place }, timeoutMs: TIMEOUT_MS })
        .catch(refuse)
    },
    async resource(name, key) {
      const found = await find(name, key)
      const query = { ...queryOf(found), appNamespace: namespace }
      const { manifest } = await withToken()
        .call('GET', pathOf(name, 'resource'), Resource, { query, timeoutMs: TIMEOUT_MS })
        .catch(refuse)
      const state = stateOf(manifest)
      if (state === undefined)
        throw fault('not-found', { message: `The cluster does not have ${key.kind} "${key.name}" any more.` })
      return { manifest: state }
    },
    async events(name, { uid, name: resource, namespace: place }) {
      const query = { resourceUID: uid, resourceName: resource, resourceNamespace: place }
      const { items } = await read(pathOf(name, 'events'), Events, query)
      return items
        .map(({ type, reason, message, count, lastTimestamp, eventTime }) => ({
          type: type ?? '',
          reason: reason ?? '',
          message: message ?? '',
          ...defined({ at: timeOf(lastTimestamp ?? eventTime), count: count ?? undefined }),
        }))
        .toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))
    },
    async removeResource(name, key) {
      const query = { ...queryOf(await find(name, key)), appNamespace: namespace }
      // Argo CD refuses changes of another type, because a page of another origin could send them.
      const headers = { 'content-type': 'application/json' }
      await withToken().text('DELETE', pathOf(name, 'resource'), { query, headers, timeoutMs: TIMEOUT_MS }).catch(refuse)
    },
  }
}

type TreeNode = z.output<typeof Tree>['nodes'][number]

function queryOf({ group, version, kind, namespace, name }: TreeNode): Readonly<Record<string, string | undefined>> {
  return { group, version, kind, namespace, resourceName: name }
}

/** Seconds that the clocks of a node and of this process may differ, and that a line may take. A further difference is seen by its caller, who asks for more. */
const MARGIN_S = 10

/** Kubernetes counts in seconds. */
function secondsSince(time: string, now: number): number {
  return Math.max(0, Math.ceil((now - Date.parse(time)) / 1000)) + MARGIN_S
}

function isSame(
  node: { group?: string | undefined; kind: string; namespace?: string | undefined; name: string },
  key: ResourceKey,
): boolean {
  return (
    (node.group ?? '') === key.group &&
    node.kind === key.kind &&
    node.name === key.name &&
    (node.namespace ?? '') === key.namespace
  )
}

type ManagedItem = z.output<typeof Managed>['items'][number]

function toDifference(item: ManagedItem): ResourceDifference[] {
  const { group, kind, namespace, name, modified, targetState, liveState } = item
  const [target, live] = [stateOf(targetState), stateOf(liveState)]
  const key = { kind, name, ...defined({ group, namespace }) }
  if (target === undefined) return live === undefined ? [] : [{ ...key, change: 'delete', live }]
  if (live === undefined) return [{ ...key, change: 'create', target }]
  if (modified !== true) return []
  const [before, after] = [stateOf(item.normalizedLiveState), stateOf(item.predictedLiveState)]
  return [{ ...key, change: 'update', live: before ?? live, target: after ?? target }]
}

/** A state that does not exist is the text `null`. Without what says who wrote which field: it is long, and no difference. */
function stateOf(state: string | undefined): Readonly<Record<string, unknown>> | undefined {
  const found = state === undefined ? undefined : parseJson(state)
  if (!isRecord(found)) return undefined
  const { metadata } = found
  if (!isRecord(metadata)) return hideSecret(found)
  const { managedFields: _writers, ...rest } = metadata
  return hideSecret({ ...found, metadata: rest })
}

/** Throws `config-invalid`. */
export function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw fault('config-invalid', { message: `The file with the token of Argo CD cannot be read: ${file}.` }, error)
  }
}

/** Argo CD is not our server: its statuses and pages say something else. */
export function refuse(error: unknown): never {
  if (!isFault(error)) throw error
  const { message } = error
  if (isFault(error, 'server-unreachable', 'unavailable')) throw fault('argo-cd-unreachable', { message }, error)
  if (isFault(error, 'proxy-answered'))
    throw fault(
      'argo-cd-refused',
      {
        message: 'Argo CD does not know the application, or does not accept the token of the runtime.',
        hint: 'Check the rights of the account of the token: docs/operate/app-proxy.md lists them.',
      },
      error,
    )
  throw fault('argo-cd-refused', { message: wordsOf(message) }, error)
}

/** Returns what Argo CD says in an answer that the client shows with its status: it answers with JSON that has a message. */
function wordsOf(message: string): string {
  const found = parseJson(message.slice(message.indexOf('{')))
  return isRecord(found) && typeof found['message'] === 'string' ? `Argo CD: ${found['message']}` : message
}
