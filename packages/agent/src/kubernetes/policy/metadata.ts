/** Shapes of the names, labels and annotations of the objects of an attempt. */
import { CLAIM_NOTE, LABEL, labelValue } from '@windlass/protocol'
import { allowedBy, names, type Scope } from './agent-policy.ts'
import { checkNotedPlacement } from './placement.ts'
import { all, oneOf, mapping, record, text, type Shape } from './shape.ts'

/** Annotations that node autoscalers read on pods of builds. */
const POD_ANNOTATIONS = ['cluster-autoscaler.kubernetes.io/safe-to-evict', 'karpenter.sh/do-not-disrupt']
/**
 * Annotations that a provisioner reads on a claim. `boundBy`, `keepUntil`, `kept` and `touched` are written only by the agent and the
 * provisioner.
 */
const CLAIM_ANNOTATIONS: readonly string[] = [
  CLAIM_NOTE.selector,
  CLAIM_NOTE.sortOrder,
  CLAIM_NOTE.reset,
  CLAIM_NOTE.builds,
  CLAIM_NOTE.retention,
  CLAIM_NOTE.minimumSpace,
]

export type Role = 'secret' | 'claim' | 'dind' | 'engine'

/** Returns the shape of the metadata of an object: its exact name, the labels of its attempt, and keys that the policy allows. */
export function metadataShape(role: Role, name: string, scope: Scope): Shape {
  const fields = {
    name: oneOf([name]),
    namespace: oneOf(scope.policy.namespaces, allowedBy('NAMESPACES')),
    labels: labels(role, scope),
  }
  return record(role === 'secret' ? fields : { ...fields, annotations: annotations(role, scope) }, [
    'name',
    'namespace',
    'labels',
  ])
}

function labels(role: Role, { policy, attempt }: Scope): Shape {
  const isOfDisk = role === 'claim' || role === 'dind'
  const own: Readonly<Record<string, Shape>> = {
    [LABEL.build]: oneOf([attempt.buildId]),
    [LABEL.attempt]: oneOf([String(attempt.attempt)]),
    [LABEL.runtime]: oneOf([labelValue(attempt.runtime)]),
    [LABEL.expires]: text((value) => (/^[0-9]{1,15}$/.test(value) ? undefined : 'must be a time in seconds.')),
    ...(role === 'dind' && { [LABEL.app]: oneOf(['dind']) }),
    ...(role === 'engine' && { [LABEL.app]: oneOf(['runtime']) }),
    ...(isOfDisk && { [LABEL.volumeApp]: oneOf(['dind']) }),
    ...Object.fromEntries(
      [LABEL.account, LABEL.pipeline, LABEL.project, LABEL.trigger, LABEL.branch].map((key) => [key, text()]),
    ),
  }
  const required = [LABEL.build, LABEL.attempt, LABEL.runtime, ...(role === 'dind' || role === 'engine' ? [LABEL.app] : [])]
  const known = mapping((key, value, place) => {
    const shape = Object.hasOwn(own, key) ? own[key] : undefined
    if (shape !== undefined) return shape(value, place)
    if (!names(policy.labels, key) || isOurs(key))
      return place.refuse(place.path, `is not allowed. ${allowedBy('ALLOWED_LABELS')}`)
    text()(value, place)
  })
  return all(known, (value, place) => {
    for (const key of required)
      if (typeof value === 'object' && value !== null && !Object.hasOwn(value, key))
        place.refuse(place.path, `must have ${key}, which names the build of the object.`)
  })
}

/** Whether our own components act on a label or annotation; those cannot be allowed by settings. */
function isOurs(key: string): boolean {
  return key.startsWith('windlass.io/') || [LABEL.app, LABEL.volumeApp].some((own) => own === key)
}

function annotations(role: Role, { policy }: Scope): Shape {
  const own = role === 'claim' ? CLAIM_ANNOTATIONS : POD_ANNOTATIONS
  return mapping((key, value, place) => {
    text()(value, place)
    if (role === 'claim' && key === CLAIM_NOTE.placement && typeof value === 'string')
      return checkNotedPlacement(value, policy, place)
    if (own.includes(key) || (names(policy.annotations, key) && !isOurs(key))) return
    place.refuse(place.path, `is not allowed. ${allowedBy('ALLOWED_ANNOTATIONS')}`)
  })
}
