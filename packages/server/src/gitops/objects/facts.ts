/** What is stored of a rollout, of one of its ReplicaSets, and of a workflow: the words of their controllers in the spelling of `/v1`. */
import { defined } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import {
  isCompleteRollout,
  rolloutPhaseOf,
  rolloutStepOf,
  rolloutWeightOf,
  WORKFLOW_PHASES,
  type ReportedWorkflowDetails,
  type RolloutMoment,
  type WorkflowMoment,
  type WorkflowPhase,
} from '@windlass/protocol'
import { oneLine } from '../manifest-fields.ts'
import type { ReplicaSetManifest, RolloutManifest, WorkflowManifest } from './manifest.ts'
import type { ReplicaSetFacts, RolloutFacts, WorkflowFacts } from './stored-objects.ts'

/** Annotation of Argo Rollouts on a rollout and its ReplicaSets. */
const REVISION = 'rollout.argoproj.io/revision'
/** Marks of Argo CD on the objects of an application: `NAMESPACE_NAME:GROUP/KIND:…`, and in its other method the name as a label. */
const TRACKING_ID = 'argocd.argoproj.io/tracking-id'
const INSTANCE = 'app.kubernetes.io/instance'
const WORKFLOWS = 'workflows.argoproj.io'
/** Longest messages of the history and of failed pods. Characters. */
const MAX_SHORT = 200
/** Failed pods of a workflow that are stored. */
const MAX_FAILED = 20

export interface ReadObject {
  /** The application of a rollout, the rollout of a ReplicaSet, the template of a workflow; empty if nothing says it. */
  readonly partOf: string
  /** Empty for a ReplicaSet. */
  readonly phase: string
  readonly facts: RolloutFacts | ReplicaSetFacts | WorkflowFacts
  /** The state as the history has it, without its time. Undefined if no history is kept. */
  readonly moment: Omit<RolloutMoment, 'at'> | Omit<WorkflowMoment, 'at'> | undefined
}

export function readRollout(manifest: RolloutManifest): ReadObject {
  const { metadata, spec, status } = manifest
  const { canary, blueGreen } = spec.strategy ?? {}
  const steps = canary?.steps ?? []
  const { phase, message } = rolloutPhaseOf(manifest)
  const where = defined({
    currentStep: steps.length === 0 ? undefined : rolloutStepOf(manifest),
    weight: rolloutWeightOf(manifest),
    revision: revisionOf(metadata),
  })
  return {
    partOf: applicationOf(metadata),
    phase,
    facts: {
      strategy: isRecord(canary) ? 'canary' : isRecord(blueGreen) ? 'blue-green' : 'unknown',
      isComplete: isCompleteRollout(manifest),
      isAborted: status?.abort === true,
      steps: steps.length,
      replicas: {
        wanted: spec.replicas ?? 1,
        updated: status?.updatedReplicas ?? 0,
        available: status?.availableReplicas ?? 0,
      },
      ...where,
      ...defined({ message }),
    },
    moment: { phase, ...where, ...defined({ message: message === undefined ? undefined : oneLine(message, MAX_SHORT) }) },
  }
}

/** Returns undefined for a ReplicaSet of something else than a rollout. */
export function readReplicaSet({ metadata, spec, status }: ReplicaSetManifest): ReadObject | undefined {
  const owner = metadata.ownerReferences.find(({ kind }) => kind === 'Rollout')?.name
  if (owner === undefined) return undefined
  const containers = spec.template?.spec?.containers ?? []
  return {
    partOf: owner,
    phase: '',
    facts: {
      images: containers.flatMap(({ image }) => image ?? []),
      replicas: { wanted: spec.replicas ?? 1, available: status?.availableReplicas ?? 0 },
      ...defined({ revision: revisionOf(metadata) }),
    },
    moment: undefined,
  }
}

export function readWorkflow({ metadata, spec, status }: WorkflowManifest): ReadObject {
  const { labels } = metadata
  const phase = workflowPhaseOf(status?.phase)
  const { message, progress, startedAt, finishedAt } = status ?? {}
  return {
    partOf: spec?.workflowTemplateRef?.name ?? labels[`${WORKFLOWS}/workflow-template`] ?? '',
    phase,
    facts: {
      failedNodes: failedNodesOf(status?.nodes ?? {}),
      ...defined({
        message,
        progress,
        startedAt,
        finishedAt,
        by: labels[`${WORKFLOWS}/creator-preferred-username`] ?? labels[`${WORKFLOWS}/creator`],
      }),
    },
    moment: { phase, ...defined({ progress }) },
  }
}

/** One that its controller has not seen yet has no phase. */
function workflowPhaseOf(word: string | undefined): WorkflowPhase {
  return word === undefined ? 'pending' : (WORKFLOW_PHASES.find((phase) => phase === word.toLowerCase()) ?? 'unknown')
}

function failedNodesOf(nodes: Readonly<Record<string, unknown>>): ReportedWorkflowDetails['failedNodes'] {
  const found: ReportedWorkflowDetails['failedNodes'] = []
  for (const node of Object.values(nodes)) {
    if (!isRecord(node) || node['type'] !== 'Pod' || (node['phase'] !== 'Failed' && node['phase'] !== 'Error')) continue
    found.push({
      name: shortOf(node['displayName']) ?? shortOf(node['name']) ?? '',
      ...defined({ message: shortOf(node['message']) }),
    })
    if (found.length === MAX_FAILED) break
  }
  return found
}

function shortOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? oneLine(value, MAX_SHORT) : undefined
}

function revisionOf({ annotations }: RolloutManifest['metadata'] | ReplicaSetManifest['metadata']): number | undefined {
  const text = annotations[REVISION] ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

function applicationOf({ annotations, labels }: RolloutManifest['metadata']): string {
  const tracked = annotations[TRACKING_ID]?.split(':')[0]?.split('_').at(-1)
  return oneLine(tracked ?? labels[INSTANCE] ?? '', 253)
}
