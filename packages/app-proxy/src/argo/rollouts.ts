/**
 * Rollouts of the applications of the runtime. Argo CD reads them and carries out the actions, also in managed clusters; a rollback, which it does not know, is a patch here. Not here: what the fields of
 * a Rollout mean (`show-rollout.ts`).
 */
import { fault } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import {
  rolloutStepOf,
  type ResourceNode,
  type Rollout,
  type RolloutAction,
  type RolloutActionInput,
  type RolloutKey,
  type RolloutRolledBack,
  type RolloutRollbackAvailability,
  type RolloutRollbackInput,
} from '@windlass/protocol'
import { noteSubject } from '../audit/call.ts'
import type { ArgoApi } from './api.ts'
import type { Applications } from './applications.ts'
import type { LiveObjects } from './live-objects.ts'
import { historyLimitOf, RolloutManifest } from './rollout-manifest.ts'
import { revisionsOf, toRollout, type RolloutFacts } from './show-rollout.ts'

/** Rollouts of one application that are read. */
const MAX_ROLLOUTS = 50
/** Label that the controller adds to the pods of each revision. */
const HASH_LABEL = 'rollouts-pod-template-hash'

export interface Rollouts {
  /** Lists those of an application by name. */
  list(application: string): Promise<readonly Rollout[]>
  /** Throws `not-found`, `conflict` if the state forbids the action, and `not-supported` if Argo CD does not have it. */
  act(application: string, action: RolloutAction, input: RolloutActionInput): Promise<Rollout>
  /** Tells whether an earlier revision can be restored. Throws `not-found`. */
  availability(application: string, input: RolloutRollbackInput): Promise<RolloutRollbackAvailability>
  /** Restores an earlier revision. Throws `not-found`, and `conflict` with the reason if it is not possible. */
  rollBack(application: string, input: RolloutRollbackInput): Promise<RolloutRolledBack>
}

export interface RolloutsOptions {
  readonly argo: Pick<ArgoApi, 'tree'>
  readonly objects: LiveObjects
  readonly applications: Pick<Applications, 'find'>
}

interface Found extends RolloutFacts {
  readonly node: ResourceNode
}

export function openRollouts({ argo, objects, applications }: RolloutsOptions): Rollouts {
  async function load(application: string, node: ResourceNode, nodes: readonly ResourceNode[]): Promise<Found> {
    const [manifest, actions] = await Promise.all([objects.read(application, node), objects.actions(application, node)])
    const known = RolloutManifest.safeParse(manifest).data
    if (known !== undefined) return { node, nodes, actions, manifest: known }
    throw fault('argo-cd-refused', {
      message: `The rollout "${node.name}" does not have the form of argoproj.io/v1alpha1.`,
      hint: 'Look at it with `kubectl get rollout --output yaml`, and upgrade Argo Rollouts.',
    })
  }

  async function find(application: string, { namespace, name }: RolloutKey): Promise<Found> {
    const nodes = await argo.tree(application)
    const node = nodes.find((one) => isRollout(one) && one.name === name && one.namespace === namespace)
    if (node !== undefined) return load(application, node, nodes)
    throw fault('not-found', {
      message: `The application "${application}" has no rollout "${name}" in the namespace "${namespace}".`,
      hint: 'List them with `windlass gitops app rollouts RUNTIME NAME`.',
    })
  }

  /** The state after a change. The controller may not have seen it yet. */
  async function again(application: string, { node, nodes }: Found): Promise<Rollout> {
    return toRollout(await load(application, node, nodes))
  }

  /**
   * Ends the pause of a user before that of the step. Argo CD ends both with two patches, that of the step first: a controller that runs in between pauses at the step again.
   */
  async function unpause(application: string, { node, manifest }: Found): Promise<void> {
    if ((manifest.status?.pauseConditions ?? []).length === 0) return
    await objects.patch(application, node, [{ op: 'replace', path: '/spec/paused', value: false }])
  }

  async function planRollback(application: string, input: RolloutRollbackInput): Promise<Found & RollbackPlan> {
    const found = await find(application, input)
    const app = await applications.find(application)
    const automated = app?.spec.syncPolicy?.automated
    return { ...found, ...rollbackPlan(found, input.revision, automated?.['selfHeal'] === true && automated.enabled !== false) }
  }

  return {
    async list(application) {
      const nodes = await argo.tree(application)
      const own = nodes.filter(isRollout).slice(0, MAX_ROLLOUTS)
      const found = await Promise.all(own.map((node) => load(application, node, nodes)))
      return found.map(toRollout).toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    },
    async act(application, action, input) {
      noteSubject(`rollout ${nameOf(input)}`)
      const found = await find(application, input)
      requireAction(found, action, input)
      if (action === 'resume' && found.manifest.spec.paused) await unpause(application, found)
      await objects.run(application, found.node, action)
      return again(application, found)
    },
    availability: async (application, input) => (await planRollback(application, input)).availability,
    async rollBack(application, input) {
      noteSubject(`revision ${input.revision} of the rollout ${nameOf(input)}`)
      const { availability, target, ...found } = await planRollback(application, input)
      if (!availability.allowed || target === undefined)
        throw fault('conflict', {
          message: availability.reason ?? 'The rollback is not possible.',
          hint: 'See the revisions with `windlass gitops app rollout get RUNTIME NAME`.',
        })
      const template = templateOf(await objects.read(application, target))
      await objects.patch(application, found.node, [{ op: 'replace', path: '/spec/template', value: template }])
      return { rollout: await again(application, found), newRevision: availability.latestRevision + 1 }
    },
  }
}

function isRollout({ group, kind }: ResourceNode): boolean {
  return group === 'argoproj.io' && kind === 'Rollout'
}

function nameOf({ namespace, name }: RolloutKey): string {
  return `${namespace}/${name}`
}

/** Argo CD carries out what it has, whatever the state: what the state forbids is refused here, as its page does. */
function requireAction({ manifest, actions }: Found, action: RolloutAction, { name, step }: RolloutActionInput): void {
  const isAllowed = actions.get(action)
  if (isAllowed === undefined)
    throw fault('not-supported', {
      message: `This Argo CD does not know the action "${action}" of rollouts.`,
      hint: 'Add it in `resource.customizations.actions.argoproj.io_Rollout` of `argocd-cm`, with `mergeBuiltinActions: true`, or upgrade Argo CD.',
    })
  if (action === 'skip-current-step' && step === undefined)
    throw fault('request-invalid', { message: 'The step that is to be skipped is missing: `step`.' })
  if (step !== undefined && step !== rolloutStepOf(manifest))
    throw fault('conflict', {
      message: `The rollout "${name}" is not at the step ${step} anymore.`,
      hint: 'Look at it again, then repeat the call.',
    })
  if (!isAllowed)
    throw fault('conflict', {
      message: `The state of the rollout "${name}" does not allow the action "${action}".`,
      hint: 'See `actions` of the rollout.',
    })
}

interface RollbackPlan {
  readonly availability: RolloutRollbackAvailability
  /** The ReplicaSet of the revision. */
  readonly target: ResourceNode | undefined
}

function rollbackPlan({ manifest, nodes }: Found, asked: number, isHealed: boolean): RollbackPlan {
  const revisions = revisionsOf(manifest, nodes)
  const latest = revisions[0]?.revision ?? 0
  const chosen = revisions.find(({ revision }) => revision === asked)
  const isLatest = chosen !== undefined && chosen.isCurrent
  const reason = reasonAgainst()
  return {
    availability: {
      allowed: reason === undefined,
      isLatestRollout: isLatest,
      inRevisionsHistory: chosen !== undefined,
      revisionHistoryLimitSettings: historyLimitOf(manifest),
      latestRevision: latest,
      ...(reason !== undefined && { reason }),
    },
    target: nodes.find(({ kind, group, name, namespace }) => {
      const isOwn = kind === 'ReplicaSet' && group === 'apps' && namespace === manifest.metadata.namespace
      return isOwn && name === chosen?.name
    }),
  }

  function reasonAgainst(): string | undefined {
    const known = revisions.map(({ revision }) => revision).join(', ')
    if (chosen === undefined) return `The rollout has no revision ${asked}. It has ${known === '' ? 'none' : known}.`
    if (isLatest) return `The revision ${asked} is the current one.`
    if (isHealed) return 'Argo CD corrects the application automatically, and would undo the rollback. Revert the commit instead.'
    const { workloadRef } = manifest.spec
    if (workloadRef !== undefined && workloadRef !== null)
      return `The pods of the rollout are described by ${workloadRef.kind ?? 'another object'} ${workloadRef.name ?? ''}. Revert it there.`
    return undefined
  }
}

/** Returns the template of a ReplicaSet without the label that only its own pods have. */
function templateOf(replicaSet: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { spec } = replicaSet
  const template = isRecord(spec) ? spec['template'] : undefined
  if (!isRecord(template) || !isRecord(template['metadata']))
    throw fault('argo-cd-refused', { message: 'Argo CD has no template of the revision.' })
  const { metadata } = template
  const labels = isRecord(metadata['labels']) ? metadata['labels'] : {}
  const kept = Object.fromEntries(Object.entries(labels).filter(([name]) => name !== HASH_LABEL))
  return { ...template, metadata: { ...metadata, labels: kept } }
}
