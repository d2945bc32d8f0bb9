/**
 * The fields of an application, rollout, ReplicaSet or workflow that leave the cluster. Everything else stays, such as the values of charts, the environment of pods, parameters of workflows and what
 * `kubectl apply` notes, which may have secrets.
 */
import { isRecord } from '@windlass/kit/json'
import type { KubeObject } from '@windlass/kube'
import type { ReportedKind } from '@windlass/protocol'

/** `true`: the whole value. A list: its items, by the one shape in it. An object: these fields. A function: what it makes of the value. */
type Shape = true | readonly [Shape] | { readonly [field: string]: Shape } | ((value: unknown) => unknown)

/** Maximum number of items of a list. An application has more resources only by mistake. */
const MAX_ITEMS = 5_000
const MAX_TEXT = 4_000
/** Pods of a workflow that failed. */
const MAX_FAILED = 20

/** A text, cut: a message of a controller can have any length. */
const text = (value: unknown): unknown => (typeof value === 'string' ? value.slice(0, MAX_TEXT) : value)

/** An address of a repository, without its login. */
function repository(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1') : value
}

const HEALTH: Shape = { status: true, message: text, lastTransitionTime: true }
const SOURCE: Shape = { repoURL: repository, path: true, targetRevision: true, chart: true, ref: true, name: true }
const RESULT: Shape = { group: true, kind: true, namespace: true, name: true, status: true, hookPhase: true, message: text }

const METADATA = {
  name: true,
  namespace: true,
  uid: true,
  resourceVersion: true,
  creationTimestamp: true,
  deletionTimestamp: true,
} as const satisfies Shape

const APPLICATION: Shape = {
  apiVersion: true,
  kind: true,
  metadata: {
    ...METADATA,
    labels: true,
    annotations: {
      'codefresh.io/app-sync-warning-threshold': true,
      'codefresh.io/product': true,
      'windlass.io/component': true,
    },
  },
  spec: {
    project: true,
    source: SOURCE,
    sources: [SOURCE],
    destination: { server: true, name: true, namespace: true },
    syncPolicy: { automated: { prune: true, selfHeal: true, enabled: true } },
  },
  status: {
    health: HEALTH,
    sync: { status: true, revision: true, revisions: [true] },
    conditions: [{ type: true, message: text, lastTransitionTime: true }],
    operationState: {
      phase: true,
      message: text,
      startedAt: true,
      finishedAt: true,
      retryCount: true,
      operation: { initiatedBy: { username: true } },
      syncResult: { revision: true, revisions: [true], resources: failedResults },
    },
    history: [{ id: true, revision: true, revisions: [true], deployedAt: true, initiatedBy: { username: true } }],
    resources: [
      {
        group: true,
        version: true,
        kind: true,
        namespace: true,
        name: true,
        status: true,
        health: HEALTH,
        hook: true,
        requiresPruning: true,
      },
    ],
    summary: { images: [true] },
    reconciledAt: true,
  },
}

const ROLLOUT: Shape = {
  apiVersion: true,
  kind: true,
  metadata: {
    ...METADATA,
    generation: true,
    labels: { 'app.kubernetes.io/instance': true },
    annotations: { 'rollout.argoproj.io/revision': true, 'argocd.argoproj.io/tracking-id': true },
  },
  spec: { replicas: true, strategy: { canary: { steps: kindsOfSteps }, blueGreen: {} } },
  status: {
    phase: true,
    message: text,
    abort: true,
    controllerPause: true,
    observedGeneration: true,
    pauseConditions: [{ reason: true }],
    currentPodHash: true,
    stableRS: true,
    currentStepIndex: true,
    updatedReplicas: true,
    availableReplicas: true,
    canary: { weights: { canary: { weight: true } } },
  },
}

const REPLICA_SET: Shape = {
  apiVersion: true,
  kind: true,
  metadata: {
    ...METADATA,
    annotations: { 'rollout.argoproj.io/revision': true },
    ownerReferences: [{ kind: true, name: true, uid: true }],
  },
  spec: { replicas: true, template: { spec: { containers: [{ image: true }] } } },
  status: { availableReplicas: true },
}

const WORKFLOW: Shape = {
  apiVersion: true,
  kind: true,
  metadata: {
    ...METADATA,
    labels: {
      'workflows.argoproj.io/workflow-template': true,
      'workflows.argoproj.io/creator': true,
      'workflows.argoproj.io/creator-preferred-username': true,
    },
  },
  spec: { workflowTemplateRef: { name: true } },
  status: { phase: true, message: text, progress: true, startedAt: true, finishedAt: true, nodes: failedNodes },
}

const SHAPES: Readonly<Record<string, Shape>> = {
  Application: APPLICATION,
  Rollout: ROLLOUT,
  ReplicaSet: REPLICA_SET,
  Workflow: WORKFLOW,
} satisfies Readonly<Record<'Application' | ReportedKind, Shape>>

/** Of the steps of a canary only the weights: arguments of an analysis may have secrets. */
function kindsOfSteps(value: unknown): unknown {
  if (!Array.isArray(value)) return undefined
  return value.slice(0, MAX_ITEMS).map((step: unknown) => {
    const [kind = 'unknown', given] = (isRecord(step) ? Object.entries(step)[0] : undefined) ?? []
    return { [kind]: kind === 'setWeight' ? given : {} }
  })
}

/** The pods of a workflow that failed. Those that did not say nothing that the progress does not say. */
function failedNodes(value: unknown): unknown {
  if (!isRecord(value)) return undefined
  const isFailed = (node: unknown): boolean =>
    isRecord(node) && node['type'] === 'Pod' && (node['phase'] === 'Failed' || node['phase'] === 'Error')
  const failed = Object.entries(value).filter(([, node]) => isFailed(node))
  const shape = { displayName: true, name: true, type: true, phase: true, message: text } as const
  return Object.fromEntries(failed.slice(0, MAX_FAILED).map(([id, node]) => [id, pick(node, shape)]))
}

/** Results of objects that a sync could apply say nothing that their states do not say. */
function failedResults(value: unknown): unknown {
  if (!Array.isArray(value)) return undefined
  const isFailed = (result: unknown): boolean =>
    isRecord(result) && (result['status'] === 'SyncFailed' || result['hookPhase'] === 'Failed' || result['hookPhase'] === 'Error')
  return pick(value.filter(isFailed), [RESULT])
}

/** Returns the JSON of an object that is reported. */
export function manifestOf(object: KubeObject): string {
  const shape = SHAPES[object.kind]
  if (shape === undefined) throw new Error(`objects of the kind ${object.kind} are not reported`)
  return JSON.stringify(pick(object, shape))
}

function pick(value: unknown, shape: Shape): unknown {
  if (shape === true) return value
  if (typeof shape === 'function') return shape(value)
  if (isList(shape)) return Array.isArray(value) ? value.slice(0, MAX_ITEMS).map((item) => pick(item, shape[0])) : undefined
  if (!isRecord(value)) return undefined
  const fields = Object.entries(shape).map(([name, inner]) => [name, pick(value[name], inner)] as const)
  return Object.fromEntries(fields.filter(([, picked]) => picked !== undefined))
}

function isList(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape)
}
