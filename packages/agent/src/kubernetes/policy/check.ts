/**
 * Checks the objects that the server wants to create in the cluster. The server renders them; the owner of the cluster decides by the
 * settings of the agent. Whole objects are compared with the shapes of the objects of an attempt: every field without a shape is refused
 * with its path.
 */
import { fault, type Problem } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { LABEL, objectNames, type DiskRequest, type KubeObject, type ObjectNames, type StartTask } from '@windlass/protocol'
import type { AgentPolicy, CheckedAttempt, Scope } from './agent-policy.ts'
import { claimSpecShape, SECRET_FIELDS } from './claim.ts'
import { metadataShape, type Role } from './metadata.ts'
import { accountShape, podShape } from './pod.ts'
import { anyValue, oneOf, quote, record, type Place } from './shape.ts'

/** Maximum number of problems in one message. */
const MAX_PROBLEMS = 20
const KINDS = ['Secret', 'PersistentVolumeClaim', 'Pod']

type Attempt = Omit<CheckedAttempt, 'namespace'>

/** Checks the objects of a task of protocol v2. Throws `policy-refused` with everything that the policy does not allow. */
export function checkPolicy(task: StartTask, policy: AgentPolicy): void {
  const { buildId, attempt, runtime } = task
  const problems = task.objects.flatMap((object) => problemsOf(object, { buildId, attempt, runtime, protocol: 'v2' }, policy))
  throwIfRefused([...problems, ...crossObjectProblems(task.objects), ...diskProblems(task, policy)])
}

/** Checks one object of protocol v1, whose workflow id is the build id. Throws `policy-refused`. */
export function checkProtocolV1Object(
  object: KubeObject,
  workflow: { readonly id: string; readonly runtime: string },
  policy: AgentPolicy,
): void {
  const attempt = Number(object.metadata.labels?.[LABEL.attempt])
  const number = Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1
  throwIfRefused(problemsOf(object, { buildId: workflow.id, attempt: number, runtime: workflow.runtime, protocol: 'v1' }, policy))
}

/** Checks that an object to delete belongs to its workflow of protocol v1. Throws `policy-refused`. */
export function checkProtocolV1Removal(
  object: { readonly kind: 'Pod' | 'PersistentVolumeClaim'; readonly name: string; readonly namespace: string },
  workflowId: string,
  policy: AgentPolicy,
): void {
  const { kind, name, namespace } = object
  const path = `${kind}/${name}`
  const problems: Problem[] = []
  if (!policy.namespaces.includes(namespace))
    problems.push({ path, message: `is in the namespace ${namespace}, which is not allowed.` })
  if (!policy.isPermissive && !isOfWorkflow(kind, name, workflowId))
    problems.push({ path, message: `is not an object of the workflow ${quote(workflowId)}.` })
  throwIfRefused(problems)
}

/** Whether a name is that of an object of a workflow. In protocol v1 only the name contains the attempt. */
export function isOfWorkflow(kind: 'Pod' | 'PersistentVolumeClaim', name: string, workflowId: string): boolean {
  if (workflowId === '') return false
  const attempt = 1 + Number(/-retry-([1-9][0-9]{0,5})$/.exec(name)?.[1] ?? 0)
  // The id of a workflow may itself end so.
  return [1, attempt].some((number) => {
    const { claim, dind, engine } = objectNames(workflowId, number)
    return kind === 'Pod' ? [dind, engine].includes(name) : name === claim
  })
}

function throwIfRefused(problems: readonly Problem[]): void {
  if (problems.length === 0) return
  const texts = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) => `${path}: ${message}`)
  const more = problems.length > MAX_PROBLEMS ? ` And ${problems.length - MAX_PROBLEMS} more.` : ''
  throw fault('policy-refused', {
    message: `The policy of the agent does not allow this. ${texts.join(' ')}${more}`,
    problems: problems.slice(0, MAX_PROBLEMS),
    reason: 'policy-refused',
  })
}

function problemsOf(object: KubeObject, attempt: Attempt, policy: AgentPolicy): Problem[] {
  const head = `${object.kind}/${object.metadata.name}`
  const problems: Problem[] = []
  const refuse = (path: string, message: string): void =>
    void problems.push({ path: path === '' ? head : `${head} ${path}`, message })
  const place = { path: '', refuse }
  if (!KINDS.includes(object.kind)) {
    refuse('kind', `is ${quote(object.kind)}, but must be ${KINDS.join(', ')}.`)
    return problems
  }
  const scope = { policy, attempt: { ...attempt, namespace: object.metadata.namespace ?? '' } }
  if (policy.isPermissive && object.kind !== 'Secret') checkPermissively(object, scope, place)
  else checkStrictly(object, scope, place)
  return problems
}

/** Compares a whole object with the shape of its role. */
function checkStrictly(object: KubeObject, scope: Scope, place: Place): void {
  const { buildId, attempt, protocol } = scope.attempt
  const role = roleOf(object, objectNames(buildId, attempt))
  if (role === undefined || (role === 'secret' && protocol === 'v1'))
    return place.refuse('metadata.name', `is not the name of a ${object.kind} of attempt ${attempt} of build ${quote(buildId)}.`)
  const name = object.metadata.name
  const metadata = metadataShape(role, name, scope)
  const head = { apiVersion: oneOf(['v1']), kind: anyValue, metadata }
  const required = ['apiVersion', 'kind', 'metadata']
  if (role === 'secret') return record({ ...head, ...SECRET_FIELDS }, [...required, ...Object.keys(SECRET_FIELDS)])(object, place)
  const spec = role === 'claim' ? claimSpecShape(scope.policy) : podShape(role, name, scope)
  record({ ...head, spec }, [...required, 'spec'])(object, place)
}

function roleOf({ kind, metadata: { name } }: KubeObject, names: ObjectNames): Role | undefined {
  if (kind === 'Secret') return name === names.secret ? 'secret' : undefined
  if (kind === 'PersistentVolumeClaim') return name === names.claim ? 'claim' : undefined
  if (name === names.dind) return 'dind'
  return name === names.engine ? 'engine' : undefined
}

/** Checks an object under a permissive policy: its build, its namespace and the service account of a pod. */
function checkPermissively({ kind, metadata, ...rest }: KubeObject, { policy, attempt }: Scope, place: Place): void {
  const { namespace, labels } = metadata
  if (namespace === undefined || !policy.namespaces.includes(namespace))
    place.refuse('metadata.namespace', `is ${namespace ?? 'missing'}, which is not allowed (WINDLASS_AGENT_NAMESPACES).`)
  for (const field of ['ownerReferences', 'finalizers'])
    if (field in metadata) place.refuse(`metadata.${field}`, 'is not allowed: the agent sets it.')
  const isLabelled = labels?.[LABEL.build] === attempt.buildId && labels[LABEL.attempt] === String(attempt.attempt)
  if (attempt.protocol === 'v2' && !isLabelled) place.refuse('metadata.labels', 'must name the build and its attempt.')
  if (kind !== 'Pod') return
  const spec = isRecord(rest['spec']) ? rest['spec'] : {}
  accountShape({ policy })(spec['serviceAccountName'] ?? 'default', { ...place, path: 'spec.serviceAccountName' })
  // The deprecated name of the same field.
  if ('serviceAccount' in spec) accountShape({ policy })(spec['serviceAccount'], { ...place, path: 'spec.serviceAccount' })
}

/** Checks the objects of a task together: all are in one namespace, and none occurs twice. */
function crossObjectProblems(objects: readonly KubeObject[]): Problem[] {
  const seen = new Set<string>()
  return objects.flatMap(({ kind, metadata: { name, namespace } }, index): Problem[] => {
    const path = `${kind}/${name}`
    const problems: Problem[] = []
    if (seen.has(path)) problems.push({ path, message: 'occurs twice.' })
    seen.add(path)
    const first = objects[0]?.metadata.namespace
    if (index > 0 && namespace !== first)
      problems.push({
        path: `${path} metadata.namespace`,
        message: `is ${quote(namespace)}, but that of the first object is ${quote(first)}.`,
      })
    return problems
  })
}

/** Checks that the disk matches the claim: its labels are written to the volume, and its class names the pool. */
function diskProblems(
  { disk, objects }: { disk?: DiskRequest | undefined; objects: readonly KubeObject[] },
  policy: AgentPolicy,
): Problem[] {
  const claim = objects.find(({ kind }) => kind === 'PersistentVolumeClaim')
  if (disk === undefined || claim === undefined || policy.isPermissive) return []
  const spec = isRecord(claim['spec']) ? claim['spec'] : {}
  const problems: Problem[] = []
  if (spec['storageClassName'] !== disk.storageClassName)
    problems.push({
      path: 'disk.storageClassName',
      message: `is ${quote(disk.storageClassName)}, but that of the claim is ${quote(spec['storageClassName'])}.`,
    })
  for (const [key, value] of Object.entries(disk.labels))
    if (claim.metadata.labels?.[key] !== value)
      problems.push({
        path: `disk.labels[${quote(key)}]`,
        message: `is ${quote(value)}, but the claim has ${quote(claim.metadata.labels?.[key])}.`,
      })
  return problems
}
