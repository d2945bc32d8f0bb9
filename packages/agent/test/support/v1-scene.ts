import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined, nodeTransport, silentLog, systemClock, type Logger } from '@windlass/kit'
import {
  openPlatform,
  openWorkflowStarts,
  startV1Agent,
  type V1Agent,
  type V1Cluster,
  type V1Options,
} from '../../src/v1/index.ts'
import { openFakeKube, type FakeKube } from './fake-kube.ts'
import { policyWith } from './attempt-objects.ts'
import { openFakePlatform, type FakePlatform } from './fake-platform.ts'

export const AGENT_ID = 'cluster/one'
export const TOKEN = '65a1b2c3d4e5f60718293a4b.s3cret-of-the-agent'

export interface V1Scene extends AsyncDisposable {
  readonly platform: FakePlatform
  readonly kube: FakeKube
  readonly stateDir: string
  /** The cluster of the runtime `re`. */
  readonly cluster: V1Cluster
  /** Starts an agent that serves the runtime `re`. */
  agent(options?: Partial<V1Options> & { readonly timeoutMs?: number }): V1Agent
}

export async function openV1Scene(log: Logger = silentLog): Promise<V1Scene> {
  const platform = await openFakePlatform()
  const kube = await openFakeKube()
  const stateDir = mkdtempSync(join(tmpdir(), 'agent-v1-'))
  const agents: V1Agent[] = []
  // The tests are about carrying out tasks and use minimal objects.
  const policy = policyWith({ POLICY: 'permissive', SERVICE_ACCOUNTS: 'default' })
  // With another API server, so that the calls of the first are those of the tasks.
  const other = await openFakeKube()
  const starts = openWorkflowStarts({ kube: other.kube(), namespaces: [], rate: { perCore: 1 }, clock: systemClock, log })
  const cluster = { kube: kube.kube(), policy, starts }
  const transport = nodeTransport()
  return {
    platform,
    kube,
    stateDir,
    cluster,
    agent({ timeoutMs, ...options } = {}) {
      const line = { url: platform.url, agentId: AGENT_ID, token: TOKEN, transport, version: '1.2.3', chartVersion: '9.9.9' }
      const agent = startV1Agent({
        platform: openPlatform({ ...line, ...defined({ timeoutMs }) }),
        clusterOf: (runtime) => (runtime === 're' ? cluster : undefined),
        stateDir,
        transport,
        clock: systemClock,
        log,
        pollMs: 20,
        ...options,
      })
      agents.push(agent)
      return agent
    },
    async [Symbol.asyncDispose]() {
      kube.intercept = () => undefined
      await Promise.all(agents.map((agent) => agent.close(0)))
      await platform[Symbol.asyncDispose]()
      starts.close()
      await kube[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
      rmSync(stateDir, { recursive: true })
    },
  }
}

export interface TaskOptions {
  readonly workflow?: string
  readonly runtime?: string
  readonly name?: string
  readonly createdAt?: string
  readonly revision?: number
  readonly report?: boolean
  readonly spec?: unknown
  readonly labels?: Record<string, string>
}

let tasks = 0

/** Returns a task as a platform sends it. */
export function task(type: string, options: TaskOptions = {}): { _id: string; [field: string]: unknown } {
  tasks += 1
  const workflow = options.workflow ?? 'wf1'
  const name = options.name ?? `x-${workflow}`
  const kind = type.endsWith('Pvc') ? 'PersistentVolumeClaim' : 'Pod'
  const metadata = { name, namespace: 'builds', labels: options.labels ?? { workflow } }
  const manifest = { apiVersion: 'v1', kind, metadata, spec: {} }
  return {
    _id: `task-${tasks}`,
    type,
    metadata: {
      createdAt: options.createdAt ?? '2026-01-01T00:00:00Z',
      reName: options.runtime ?? 're',
      workflowId: workflow,
      currentStatusRevision: options.revision ?? 0,
      shouldReportStatus: options.report ?? true,
    },
    spec: options.spec ?? (type.startsWith('Delete') ? { Name: name, Namespace: 'builds' } : manifest),
  }
}

/** Waits until a condition holds. Fails after a minute. */
export async function until(what: string, is: () => boolean): Promise<void> {
  for (let i = 0; !is(); i += 1) {
    if (i > 6_000) throw new Error(`timed out after a minute: ${what}`)
    await systemClock.sleep(10)
  }
}

/** A gate that holds calls until it is opened. */
export function gate(): { readonly opened: Promise<undefined>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  return { opened: promise, open: () => resolve(undefined) }
}
