/** Shapes of the two pods of an attempt. */
import { isRecord } from '@windlass/kit/json'
import { allowedBy, isAllowed, type Scope } from './agent-policy.ts'
import { containerShape, POD_SECURITY } from './container.ts'
import { checkPlacement, PLACEMENT_FIELDS } from './placement.ts'
import { all, anyValue, oneOf, list, quote, record, text, integer, type Shape } from './shape.ts'
import { volumeShape } from './volumes.ts'

/** Fields whose defaults in Kubernetes allow more than a build needs. */
const REQUIRED = ['containers', 'serviceAccountName', 'automountServiceAccountToken', 'restartPolicy', 'activeDeadlineSeconds']

/** Returns the shape of the `spec` of the pod with this name. */
export function podShape(role: 'engine' | 'dind', name: string, scope: Scope): Shape {
  const own = role === 'dind' ? { hostname: oneOf([name]), subdomain: oneOf(['dind']) } : {}
  const placed: Shape = (value, place) => {
    if (isRecord(value)) checkPlacement(value, scope.policy, place)
  }
  return all(record({ ...commonFields(role, scope), ...own }, REQUIRED), placed)
}

function commonFields(role: 'engine' | 'dind', scope: Scope): Readonly<Record<string, Shape>> {
  return {
    ...Object.fromEntries(PLACEMENT_FIELDS.map((field) => [field, anyValue])),
    containers: all(list(containerShape(role, scope), 1), onlyOne),
    initContainers: list(containerShape('init', scope)),
    volumes: list(volumeShape(role, scope)),
    serviceAccountName: accountShape(scope),
    automountServiceAccountToken: oneOf([false]),
    imagePullSecrets: list(record({ name: pullSecret(scope) }, ['name'])),
    // An engine that died is restarted to send the rest of its spool. A daemon is not: its steps are lost with it.
    restartPolicy: oneOf(role === 'engine' ? ['Never', 'OnFailure'] : ['Never']),
    enableServiceLinks: oneOf([false]),
    terminationGracePeriodSeconds: integer(),
    activeDeadlineSeconds: integer(1),
    securityContext: POD_SECURITY,
    dnsPolicy: oneOf(['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None']),
    dnsConfig: record({
      nameservers: list(text()),
      searches: list(text()),
      options: list(record({ name: text(), value: text() }, ['name'])),
    }),
  }
}

const onlyOne: Shape = (value, place) => {
  if (Array.isArray(value) && value.length > 1) place.refuse(place.path, `has ${value.length} containers, but must have one.`)
}

/** Returns the shape of a service account of the list. */
export function accountShape({ policy }: Pick<Scope, 'policy'>): Shape {
  return oneOf(policy.serviceAccounts, allowedBy('SERVICE_ACCOUNTS'))
}

/** Returns the shape of the name of a Secret that builds may use for pulling images, or may read anyway. */
function pullSecret({ policy, attempt }: Scope): Shape {
  return text((name) =>
    [policy.pullSecrets, policy.secrets].some((entries) => isAllowed(entries, attempt.namespace, name))
      ? undefined
      : `is ${quote(name)}. ${allowedBy('ALLOWED_PULL_SECRETS')}`,
  )
}
