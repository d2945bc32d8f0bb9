/** Decides where the pod of a build may run, and whether a disk is reachable there. Pure. */
import type { KubeObject } from '@windlass/kube'
import { z } from 'zod'
import type { Volume } from './volume.ts'
import { NOTE } from './notes.ts'

const Toleration = z.looseObject({
  key: z.string().optional(),
  operator: z.string().default('Equal'),
  value: z.string().default(''),
  effect: z.string().optional(),
})
const Requirement = z.looseObject({ key: z.string(), operator: z.string(), values: z.array(z.string()).default([]) })
const Terms = z.array(z.looseObject({ matchExpressions: z.array(Requirement).default([]) }))
const NodeSelector = z.looseObject({ nodeSelectorTerms: Terms })

/** Node requirements of a pod, as in a pod specification. */
export const Placement = z.looseObject({
  nodeSelector: z.record(z.string(), z.string()).default({}),
  tolerations: z.array(Toleration).default([]),
  affinity: z
    .looseObject({
      nodeAffinity: z.looseObject({ requiredDuringSchedulingIgnoredDuringExecution: NodeSelector.optional() }).optional(),
    })
    .optional(),
})
export type Placement = z.infer<typeof Placement>

const NodeShape = z.looseObject({
  metadata: z.looseObject({ name: z.string(), labels: z.record(z.string(), z.string()).default({}) }),
  spec: z
    .looseObject({
      unschedulable: z.boolean().default(false),
      taints: z.array(z.looseObject({ key: z.string(), value: z.string().default(''), effect: z.string() })).default([]),
    })
    .prefault({}),
  status: z
    .looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) })
    .prefault({}),
})

export const ZONE_LABEL = 'topology.kubernetes.io/zone'
const HOST_LABEL = 'kubernetes.io/hostname'

/** Whether a node is ready and not cordoned. */
export function isSchedulable(node: KubeObject): boolean {
  const { spec, status } = NodeShape.parse(node)
  return !spec.unschedulable && status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True')
}

/** Whether a pod with this placement may run on the node: schedulable, selected, and its taints tolerated. */
export function acceptsPod(node: KubeObject, placement: Placement | undefined): boolean {
  if (!isSchedulable(node)) return false
  if (placement === undefined) return true
  const { metadata, spec } = NodeShape.parse(node)
  const isSelected = Object.entries(placement.nodeSelector).every(([key, value]) => metadata.labels[key] === value)
  const wanted = placement.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const isWanted = wanted === undefined || matchesTerms(wanted.nodeSelectorTerms, metadata.labels)
  const hard = spec.taints.filter(({ effect }) => effect !== 'PreferNoSchedule')
  return isSelected && isWanted && hard.every((taint) => placement.tolerations.some((one) => tolerates(one, taint)))
}

function tolerates(
  toleration: z.infer<typeof Toleration>,
  taint: { readonly key: string; readonly value: string; readonly effect: string },
): boolean {
  if (toleration.effect !== undefined && toleration.effect !== '' && toleration.effect !== taint.effect) return false
  const isAnyKey = toleration.key === undefined || toleration.key === ''
  if (toleration.operator === 'Exists') return isAnyKey || toleration.key === taint.key
  return toleration.key === taint.key && toleration.value === taint.value
}

/** Whether the disk can be mounted on the node: it is on this node, or its affinity allows it. */
export function isWithinReach(volume: Volume, node: KubeObject): boolean {
  const { metadata } = NodeShape.parse(node)
  const home = volume.metadata.annotations[NOTE.node]
  if (home !== undefined && home !== metadata.name) return false
  const affinity = z.looseObject({ required: NodeSelector.optional() }).safeParse(volume.spec.nodeAffinity ?? {})
  const terms = affinity.success ? affinity.data.required?.nodeSelectorTerms : undefined
  return terms === undefined || matchesTerms(terms, metadata.labels)
}

/** Terms are alternatives; all expressions of a term must match (core/v1 NodeSelector). */
function matchesTerms(terms: z.infer<typeof Terms>, labels: Readonly<Record<string, string>>): boolean {
  return terms.some(({ matchExpressions }) => matchExpressions.every((requirement) => meets(requirement, labels)))
}

function meets({ key, operator, values }: z.infer<typeof Requirement>, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[key]
  if (operator === 'In') return value !== undefined && values.includes(value)
  if (operator === 'NotIn') return value === undefined || !values.includes(value)
  if (operator === 'Exists') return value !== undefined
  if (operator === 'DoesNotExist') return value === undefined
  if (operator === 'Gt') return Number(value) > Number(values[0])
  if (operator === 'Lt') return Number(value) < Number(values[0])
  return false
}

/**
 * Returns the affinity of a disk to one node. It uses a label, not a field, because the scheduler compares the affinity of volumes only
 * with labels.
 */
export function onNode(node: KubeObject): Record<string, unknown> {
  return inLabel(HOST_LABEL, node.metadata.labels?.[HOST_LABEL] ?? node.metadata.name)
}

/** Returns the affinity of a disk to a zone. `key` is the label that the driver of the disk sets on nodes. */
export function inLabel(key: string, value: string): Record<string, unknown> {
  return { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: [value] }] }] } }
}

/** Returns the zone that a pod requires by its node selector, or undefined. */
export function zoneAskedFor(placement: Placement | undefined): string | undefined {
  return placement?.nodeSelector[ZONE_LABEL]
}
