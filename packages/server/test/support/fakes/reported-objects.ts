/** Rollouts, their ReplicaSets and workflows as their controllers write them. */
import { CREATED_AT } from './application-reporter.ts'

interface Shown {
  readonly namespace?: string
  readonly uid?: string
  /** Resource version. */
  readonly version?: number
  readonly createdAt?: number
}

export interface ShownRollout extends Shown {
  readonly phase?: string
  /** Index of the step; 2 after the last one. */
  readonly step?: number
  readonly revision?: number
  readonly message?: string
  readonly status?: object
}

function metadataOf(
  name: string,
  { namespace = 'shop', uid = `uid-of-${name}`, version = 1, createdAt = CREATED_AT }: Shown,
): object {
  const creationTimestamp = new Date(createdAt).toISOString()
  return { name, namespace, uid, resourceVersion: String(version), creationTimestamp }
}

/** Returns a canary of the application `shop` with the steps `setWeight: 50` and `pause`. */
export function argoRollout(name: string, shown: ShownRollout = {}): object {
  const { phase = 'Paused', step = 0, revision = 2, message } = shown
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Rollout',
    metadata: {
      ...metadataOf(name, shown),
      annotations: {
        'rollout.argoproj.io/revision': String(revision),
        'argocd.argoproj.io/tracking-id': `shop:argoproj.io/Rollout:shop/${name}`,
      },
    },
    spec: { replicas: 2, strategy: { canary: { steps: [{ setWeight: 50 }, { pause: {} }] } } },
    status: {
      phase,
      message,
      currentStepIndex: step,
      currentPodHash: 'new',
      stableRS: phase === 'Healthy' ? 'new' : 'old',
      updatedReplicas: 1,
      availableReplicas: 2,
      ...shown.status,
    },
  }
}

/** Returns a ReplicaSet of a rollout, or of something else. */
export function replicaSetOf(
  owner: string,
  revision: number,
  { kind = 'Rollout', ...shown }: Shown & { readonly kind?: string } = {},
): object {
  const name = `${owner}-${revision}`
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      ...metadataOf(name, { createdAt: CREATED_AT + revision * 1_000, ...shown }),
      annotations: { 'rollout.argoproj.io/revision': String(revision) },
      ownerReferences: [{ apiVersion: 'argoproj.io/v1alpha1', kind, name: owner, uid: `uid-of-${owner}` }],
    },
    spec: { replicas: 1, template: { spec: { containers: [{ name: 'main', image: `registry.test/${owner}:${revision}` }] } } },
    status: { replicas: 1, availableReplicas: 1 },
  }
}

export interface ShownWorkflow extends Shown {
  readonly phase?: string
  readonly progress?: string
  readonly status?: object
}

/** Returns a workflow of the template `build`, submitted by `dan`. */
export function argoWorkflow(name: string, shown: ShownWorkflow = {}): object {
  const { phase = 'Running', progress = '1/2' } = shown
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Workflow',
    metadata: {
      ...metadataOf(name, shown),
      labels: {
        'workflows.argoproj.io/workflow-template': 'build',
        'workflows.argoproj.io/creator': 'id-of-dan',
        'workflows.argoproj.io/creator-preferred-username': 'dan',
      },
    },
    spec: { workflowTemplateRef: { name: 'build' } },
    status: { phase, progress, startedAt: '2027-01-10T08:00:01Z', ...shown.status },
  }
}

/** Returns the deletion of an object as our reporter sends it. */
export function objectGone(
  kind: string,
  name: string,
  { at, uid = `uid-of-${name}`, namespace = 'shop' }: { readonly at: number; readonly uid?: string; readonly namespace?: string },
): object {
  const apiVersion = kind === 'ReplicaSet' ? 'apps/v1' : 'argoproj.io/v1alpha1'
  const desiredManifest = JSON.stringify({ apiVersion, kind, metadata: { name, namespace, uid } })
  return { timestamp: new Date(at).toISOString(), actualManifest: '', desiredManifest }
}
