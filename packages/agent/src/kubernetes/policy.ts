/**
 * What this agent lets a server put into its cluster. The server renders the objects; whoever owns the cluster decides here.
 * Everything that is not allowed is refused, with the reason.
 */
import { fault, type Problem } from '@windlass/kit'
import { LABEL, type KubeObject, type StartTask } from '@windlass/protocol'
import { z } from 'zod'
import { claimsOf } from './claims.ts'

export interface AgentPolicy {
  /** Namespaces that builds may use. */
  readonly namespaces: readonly string[]
  /** Service accounts that pods of builds may run as. */
  readonly serviceAccounts: readonly string[]
  /** Images that may run privileged: prefixes; any image of the pod labelled `app: dind` when empty. */
  readonly privilegedImages: readonly string[]
  /** What is there already and builds may use besides their own: names of Secrets and claims (`*`: any), paths of nodes with all below them. */
  readonly secrets: readonly string[]
  readonly claims: readonly string[]
  readonly hostPaths: readonly string[]
  /** Kinds of volumes besides Secret, ConfigMap, claim, empty folder and facts about the pod: `nfs`, `csi`, `projected`. */
  readonly volumeTypes: readonly string[]
  /** Pods may be as the server wants them; namespaces, kinds and service accounts are checked still. */
  readonly isPermissive: boolean
}

const KINDS = ['Secret', 'PersistentVolumeClaim', 'Pod']
const VOLUME_TYPES = ['secret', 'persistentVolumeClaim', 'emptyDir', 'configMap', 'downwardAPI']
const HOST_FIELDS = ['hostNetwork', 'hostPID', 'hostIPC', 'nodeName', 'ephemeralContainers', 'shareProcessNamespace']

const SecurityContext = z.looseObject({
  privileged: z.boolean().optional(),
  allowPrivilegeEscalation: z.boolean().optional(),
  procMount: z.string().optional(),
  capabilities: z.looseObject({ add: z.array(z.string()).default([]) }).optional(),
})
const Reference = z.looseObject({ name: z.string().default('') })
const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  env: z.array(z.looseObject({ valueFrom: z.looseObject({ secretKeyRef: Reference.optional() }).optional() })).default([]),
  envFrom: z.array(z.looseObject({ secretRef: Reference.optional() })).default([]),
  securityContext: SecurityContext.optional(),
  ports: z.array(z.looseObject({ hostPort: z.int().optional() })).default([]),
  volumeDevices: z.array(z.unknown()).default([]),
})
const Volume = z.looseObject({
  name: z.string(),
  secret: z.looseObject({ secretName: z.string() }).optional(),
  persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional(),
  hostPath: z.looseObject({ path: z.string() }).optional(),
})
const PodSpec = z.looseObject({
  containers: z.array(Container).min(1),
  initContainers: z.array(Container).default([]),
  volumes: z.array(Volume).default([]),
  serviceAccountName: z.string().default('default'),
  automountServiceAccountToken: z.boolean().default(true),
})

/** Throws `policy-refused` with every object and field that the policy does not allow. */
export function checkPolicy(task: StartTask, policy: AgentPolicy): void {
  refuseFor(task.objects.flatMap((object) => problemsOf(object, task, policy)))
}

/**
 * The same for a pod of protocol v1, whose objects come one by one: a claim is of its build when its name bears the id of the workflow.
 * Throws `policy-refused`.
 */
export function checkPolledPod(pod: KubeObject, workflowId: string, policy: AgentPolicy): void {
  const problems: Problem[] = []
  const path = `${pod.kind}/${pod.metadata.name}`
  const claims = workflowId === '' ? [] : claimsOf(pod).filter((name) => name.includes(workflowId))
  const objects = claims.map((name) => ({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name } }))
  if ('ownerReferences' in pod.metadata) problems.push({ path, message: 'owners are not allowed' })
  checkPod(pod, { task: { objects }, policy, refuse: (message) => void problems.push({ path, message }) })
  refuseFor(problems)
}

function refuseFor(problems: readonly Problem[]): void {
  if (problems.length === 0) return
  const list = problems.map(({ path, message }) => `${path}: ${message}`).join('; ')
  throw fault('policy-refused', {
    message: `The policy of the agent does not allow this: ${list}.`,
    problems,
    reason: 'policy-refused',
  })
}

function problemsOf(object: KubeObject, task: StartTask, policy: AgentPolicy): Problem[] {
  const path = `${object.kind}/${object.metadata.name}`
  const problems: Problem[] = []
  const refuse = (message: string): void => void problems.push({ path, message })
  const { namespace, labels } = object.metadata
  if (!KINDS.includes(object.kind)) refuse(`kind ${object.kind} is not allowed`)
  if (namespace === undefined || !policy.namespaces.includes(namespace))
    refuse(`namespace ${namespace ?? '(none)'} is not allowed`)
  if (labels?.[LABEL.build] !== task.buildId || labels[LABEL.attempt] !== String(task.attempt))
    refuse('it is not labelled with its build and attempt')
  if ('ownerReferences' in object.metadata || 'finalizers' in object.metadata) refuse('owners and finalizers are not allowed')
  if (object.kind === 'Pod') checkPod(object, { task, policy, refuse })
  return problems
}

interface PodCheck {
  readonly task: Pick<StartTask, 'objects'>
  readonly policy: AgentPolicy
  readonly refuse: (message: string) => void
}

function checkPod(pod: KubeObject, check: PodCheck): void {
  const { policy, refuse } = check
  const parsed = PodSpec.safeParse(pod['spec'])
  if (!parsed.success) return refuse(`its spec is not understood: ${z.prettifyError(parsed.error)}`)
  const spec = parsed.data
  if (policy.isPermissive) return checkAccount(spec, check)
  for (const field of HOST_FIELDS) if (spec[field] !== undefined && spec[field] !== false) refuse(`${field} is not allowed`)
  if (spec.automountServiceAccountToken) refuse('a service account token is not allowed')
  checkAccount(spec, check)
  for (const volume of spec.volumes) checkVolume(volume, check)
  const mayBePrivileged = pod.metadata.labels?.[LABEL.app] === 'dind'
  for (const container of [...spec.containers, ...spec.initContainers]) checkContainer(container, mayBePrivileged, check)
}

function checkAccount({ serviceAccountName: name }: z.infer<typeof PodSpec>, { policy, refuse }: PodCheck): void {
  if (!policy.serviceAccounts.includes(name)) refuse(`service account ${name} is not allowed`)
}

/** Only what the task brings along or the policy names, and what holds no data of others: another Secret or claim would be somebody else's. */
function checkVolume(volume: z.infer<typeof Volume>, { task, policy, refuse }: PodCheck): void {
  const allowed = [...VOLUME_TYPES, ...policy.volumeTypes]
  const types = Object.keys(volume).filter((key) => key !== 'name' && key !== 'hostPath')
  for (const type of types) if (!allowed.includes(type)) refuse(`volume ${volume.name}: ${type} is not allowed`)
  const secret = volume.secret?.secretName
  if (secret !== undefined && !mayUse('Secret', secret, { task, policy }))
    refuse(`volume ${volume.name}: secret ${secret} is not of this build (WINDLASS_AGENT_ALLOWED_SECRETS)`)
  const claim = volume.persistentVolumeClaim?.claimName
  if (claim !== undefined && !mayUse('PersistentVolumeClaim', claim, { task, policy }))
    refuse(`volume ${volume.name}: claim ${claim} is not of this build (WINDLASS_AGENT_ALLOWED_CLAIMS)`)
  const path = volume.hostPath?.path
  if (path !== undefined && !isBelow(path, policy.hostPaths))
    refuse(`volume ${volume.name}: hostPath ${path} is not allowed (WINDLASS_AGENT_ALLOWED_HOST_PATHS)`)
}

/** The kubelet resolves `..` and links of a path after this check: a path that holds `..` is never below another. */
function isBelow(path: string, folders: readonly string[]): boolean {
  if (path.split('/').includes('..')) return false
  return folders.some((folder) => path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`))
}

/** True for what the task brings along, and for what the owner of the cluster lends to builds. */
function mayUse(
  kind: 'Secret' | 'PersistentVolumeClaim',
  name: string,
  { task, policy }: Pick<PodCheck, 'task' | 'policy'>,
): boolean {
  const lent = kind === 'Secret' ? policy.secrets : policy.claims
  return (
    lent.includes('*') ||
    lent.includes(name) ||
    task.objects.some((object) => object.kind === kind && object.metadata.name === name)
  )
}

function checkContainer(
  container: z.infer<typeof Container>,
  mayBePrivileged: boolean,
  { task, policy, refuse }: PodCheck,
): void {
  const secrets = [
    ...container.env.map(({ valueFrom }) => valueFrom?.secretKeyRef),
    ...container.envFrom.map(({ secretRef }) => secretRef),
  ]
  for (const { name } of secrets.filter((secret) => secret !== undefined))
    if (!mayUse('Secret', name, { task, policy }))
      refuse(`container ${container.name}: secret ${name} is not of this build (WINDLASS_AGENT_ALLOWED_SECRETS)`)
  const context = container.securityContext
  const wantsPrivileges =
    context?.privileged === true || (context?.capabilities?.add.length ?? 0) > 0 || context?.procMount === 'Unmasked'
  const isListed =
    policy.privilegedImages.length === 0 || policy.privilegedImages.some((prefix) => container.image.startsWith(prefix))
  if (wantsPrivileges && !(mayBePrivileged && isListed)) refuse(`container ${container.name} may not be privileged`)
  if (container.ports.some(({ hostPort }) => hostPort !== undefined))
    refuse(`container ${container.name}: host ports are not allowed`)
  if (container.volumeDevices.length > 0) refuse(`container ${container.name}: devices are not allowed`)
}
