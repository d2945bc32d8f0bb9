/** A reporter of a GitOps runtime, as the server sees it, and applications as Argo CD has them. */
import { gzipSync } from 'node:zlib'
import type { ApiClient } from '@windlass/client'
import { reporterCalls } from '@windlass/client/reporter'
import type { EventReporter, EventsAnswer, FullState } from '@windlass/protocol'
import type { App } from '../../../src/app.ts'
import { readReport } from '../../../src/gitops/applications/read-events.ts'
import { takeEventReport } from '../../../src/gitops/applications/take-report.ts'
import { findGitopsRuntime } from '../../../src/store/runtimes/gitops.ts'

export const COMMIT = '0123456789abcdef0123456789abcdef01234567'
/** When the applications of tests were created. */
export const CREATED_AT = Date.parse('2027-01-10T08:00:00Z')

export interface Shown {
  readonly namespace?: string
  readonly uid?: string
  /** Resource version. */
  readonly version?: number
  readonly project?: string
  readonly health?: string
  readonly sync?: string
  readonly createdAt?: number
  readonly annotations?: Readonly<Record<string, string>>
  readonly spec?: object
  readonly status?: object
}

/** Returns an application of Argo CD. */
export function argoApplication(name: string, shown: Shown = {}): object {
  const { namespace = 'argocd', uid = `uid-of-${name}`, version = 1, project = 'default', createdAt = CREATED_AT } = shown
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: String(version),
      creationTimestamp: new Date(createdAt).toISOString(),
      ...(shown.annotations !== undefined && { annotations: shown.annotations }),
    },
    spec: {
      project,
      source: { repoURL: 'https://git.test/acme/shop.git', path: name, targetRevision: 'main' },
      destination: { server: 'https://kubernetes.default.svc', namespace: 'shop' },
      syncPolicy: { automated: { prune: true } },
      ...shown.spec,
    },
    status: {
      health: { status: shown.health ?? 'Healthy' },
      sync: { status: shown.sync ?? 'Synced', revision: COMMIT },
      resources: [
        {
          group: 'apps',
          version: 'v1',
          kind: 'Deployment',
          namespace: 'shop',
          name,
          status: 'Synced',
          health: { status: 'Healthy' },
        },
        { version: 'v1', kind: 'Service', namespace: 'shop', name, status: 'Synced', health: { status: 'Healthy' } },
      ],
      summary: { images: [`registry.test/${name}:1`] },
      ...shown.status,
    },
  }
}

const timeOf = (at: number): string => new Date(at).toISOString()

/** Returns a payload of the later shape. */
export function event(object: object, at: number): object {
  return { timestamp: timeOf(at), actualManifest: JSON.stringify(object) }
}

/** Returns a payload of the earlier shape. */
export function earlierEvent(object: object, at: number, source: object = {}): object {
  return {
    timestamp: timeOf(at),
    object: Buffer.from(JSON.stringify(object)).toString('base64'),
    source: { desiredManifest: '', gitManifest: '', actualManifest: JSON.stringify(object), ...source },
    errors: null,
    appVersions: null,
  }
}

/** Returns the deletion of an application as our reporter sends it. */
export function goneEvent(name: string, at: number, { namespace = 'argocd', uid = `uid-of-${name}` } = {}): object {
  return { timestamp: timeOf(at), actualManifest: '', source: { appName: name, appNamespace: namespace, appUID: uid } }
}

export interface Sent {
  readonly data: object | readonly object[]
  readonly reporter?: EventReporter
  readonly fullState?: FullState
}

/** Stores a report of the runtime `prod` without HTTP. */
export async function report(app: App, body: Sent): Promise<EventsAnswer> {
  const runtime = await findGitopsRuntime(app.store.query, app.accountId, 'prod')
  return takeEventReport(app, runtime?.id ?? '', await readReport(Buffer.from(JSON.stringify(body)), undefined))
}

/** Returns a function that sends reports with a token, compressed. */
export function openReporter({ nobody }: { readonly nobody: ApiClient }, token: string): (body: Sent) => Promise<EventsAnswer> {
  const calls = reporterCalls(nobody.withToken(token))
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  return (body) => calls.events(gzipSync(JSON.stringify(body)), { headers })
}
