/** Changes of workflows as patches, and new workflows as objects: the fields that the server of Argo Workflows and the command line `argo` write. Pure, except for random names. */
import { randomInt } from 'node:crypto'
import { fault } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import type { WorkflowParameter, WorkflowManifest } from '@windlass/protocol'
import type { KubeObject } from '@windlass/kube'
import { LABELS, packNodes, type Node, type Workflow } from './manifest.ts'
import { planRetry } from './retry.ts'

type Patch = Record<string, unknown>
type Parameters = readonly WorkflowParameter[]

/** Longest value of a label, and so of the name of a workflow, which its pods have as a label. */
const MAX_LABEL = 63
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789'
const SUFFIX_LENGTH = 5
const API_VERSION = 'argoproj.io/v1alpha1'
/** Labels that a workflow does not hand on to one that repeats it. */
const OWN_LABELS: ReadonlySet<string> = new Set([
  LABELS.creator,
  LABELS.creatorEmail,
  LABELS.creatorName,
  LABELS.actor,
  LABELS.action,
  LABELS.phase,
  LABELS.completed,
  LABELS.archiving,
])

/** Returns a name as a value of a label. */
export function labelOf(name: string): string {
  return name
    .replaceAll(/[^\w.-]/g, '-')
    .slice(-MAX_LABEL)
    .replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
}

/** Returns a name as Kubernetes generates it. It is chosen here, so that a call whose answer was lost cannot create two objects. */
function generatedName(prefix: string): string {
  const letters = Array.from({ length: SUFFIX_LENGTH }, () => SUFFIX_LETTERS.charAt(randomInt(SUFFIX_LETTERS.length)))
  return prefix.slice(0, MAX_LABEL - SUFFIX_LENGTH) + letters.join('')
}

/** Ends a workflow. Throws `conflict` if it has ended. */
export function shutdownPatch({ metadata, status }: Workflow, how: 'Stop' | 'Terminate', by: string): Patch {
  if (isOver(status?.phase))
    throw fault('conflict', {
      message: `The workflow "${metadata.name}" has ended: ${status?.phase ?? ''}.`,
      hint: 'See it with `windlass gitops workflow get RUNTIME NAME`.',
    })
  return { spec: { shutdown: how }, metadata: { labels: actorLabels(by, how) } }
}

function isOver(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed' || phase === 'Error'
}

export interface Retry {
  readonly patch: Patch
  /** Ids of nodes whose pods are deleted first: the controller takes a pod that exists for the new one. */
  readonly removed: ReadonlySet<string>
}

/** Lets what failed run again. Throws `conflict` if the workflow has not failed, and `not-supported` if its nodes are not in the object. */
export async function retryOf(workflow: Workflow, by: string, now: Date): Promise<Retry> {
  const { metadata, spec, status, nodes, rawNodes } = workflow
  if (status?.phase !== 'Failed' && status?.phase !== 'Error')
    throw fault('conflict', {
      message: `The workflow "${metadata.name}" has not failed: ${status?.phase ?? 'its controller has not seen it yet'}.`,
      hint: 'Run it once more with `windlass gitops workflow resubmit RUNTIME NAME`.',
    })
  if (nodes === undefined) throw nodesElsewhere(metadata.name)
  const { removed, reset } = planRetry(metadata.name, nodes)
  const startedAt = now.toISOString().replace(/\.\d+Z$/, 'Z')
  const changes: Record<string, Patch | null> = {}
  for (const [id, node] of nodes) {
    const links = linksWithout(node, removed)
    if (removed.has(id)) changes[id] = null
    else if (reset.has(id)) {
      const phase = node.phase === 'Skipped' ? 'Skipped' : 'Running'
      changes[id] = { ...links, phase, message: null, startedAt, finishedAt: null }
    } else if (Object.keys(links).length > 0) changes[id] = links
  }
  const isCompressed = (status.compressedNodes ?? '') !== ''
  const written = isCompressed ? { compressedNodes: await packNodes(applied(rawNodes, changes)) } : { nodes: changes }
  return {
    removed,
    patch: {
      metadata: { labels: { [LABELS.completed]: null, [LABELS.archiving]: null, ...actorLabels(by, 'Retry') } },
      // A deadline of zero is how earlier versions terminate a workflow.
      spec: { shutdown: null, ...(spec.activeDeadlineSeconds === 0 && { activeDeadlineSeconds: null }) },
      status: {
        ...written,
        phase: null,
        message: null,
        startedAt,
        finishedAt: null,
        persistentVolumeClaims: null,
        conditions: [...status.conditions.filter(({ type }) => type !== 'Completed'), { type: 'Completed', status: 'False' }],
        ...(isRecord(status.storedWorkflowTemplateSpec) && { storedWorkflowTemplateSpec: { shutdown: null } }),
      },
    },
  }
}

function actorLabels(by: string, action: string): Readonly<Record<string, string>> {
  return { [LABELS.actor]: labelOf(by), [LABELS.action]: action }
}

function nodesElsewhere(name: string): Error {
  return fault('not-supported', {
    message: `Argo Workflows keeps the nodes of the workflow "${name}" in its database, which only its server reads.`,
    hint: `Retry it there: argo retry ${name}.`,
  })
}

/** Returns the links of a node without those to removed nodes; none if it has no such link. */
function linksWithout({ children, outboundNodes }: Node, removed: ReadonlySet<string>): Patch {
  const without = (ids: readonly string[]): string[] => ids.filter((id) => !removed.has(id))
  return {
    ...(children.some((id) => removed.has(id)) && { children: without(children) }),
    ...(outboundNodes.some((id) => removed.has(id)) && { outboundNodes: without(outboundNodes) }),
  }
}

/** Returns the nodes after their changes. */
function applied(nodes: Workflow['rawNodes'], changes: Readonly<Record<string, Patch | null>>): object {
  const entries = Object.entries(nodes).flatMap(([id, node]) => {
    const change = changes[id]
    if (change === null) return []
    const fields = Object.entries({ ...node, ...change }).filter(([, value]) => value !== null)
    return [[id, Object.fromEntries(fields)]]
  })
  return Object.fromEntries(entries)
}

/** Returns a new workflow that refers to a template of its namespace. */
export function fromTemplate(template: string, namespace: string, parameters: Parameters): KubeObject {
  const generateName = `${template}-`
  return {
    apiVersion: API_VERSION,
    kind: 'Workflow',
    metadata: {
      name: generatedName(generateName),
      generateName,
      namespace,
      labels: { [LABELS.template]: labelOf(template) },
    },
    spec: withParameters({ workflowTemplateRef: { name: template } }, parameters),
  }
}

/** Returns a new workflow with the spec of a file. Throws `request-invalid` without a name, and for another namespace. */
export function fromManifest({ metadata, spec }: WorkflowManifest, namespace: string, parameters: Parameters): KubeObject {
  const { name, generateName, namespace: asked = namespace, labels, annotations } = metadata
  const found = name ?? (generateName === undefined ? undefined : generatedName(generateName))
  if (found === undefined)
    throw fault('request-invalid', { message: 'The workflow has neither metadata.name nor metadata.generateName.' })
  if (asked !== namespace)
    throw fault('request-invalid', {
      message: `The GitOps runtime runs workflows in the namespace "${namespace}", and not in "${asked}".`,
    })
  return {
    apiVersion: API_VERSION,
    kind: 'Workflow',
    metadata: { name: found, ...(generateName !== undefined && { generateName }), namespace, labels, annotations },
    spec: withParameters(spec, parameters),
  }
}

/** Returns a new workflow with the spec of another one. */
export function resubmissionOf({ metadata, object }: Workflow, namespace: string, parameters: Parameters): KubeObject {
  const { name, generateName = `${name}-`, labels, annotations } = metadata
  const { shutdown: _shutdown, activeDeadlineSeconds: deadline, ...spec } = isRecord(object['spec']) ? object['spec'] : {}
  const { ownerReferences } = object.metadata
  return {
    apiVersion: API_VERSION,
    kind: 'Workflow',
    metadata: {
      name: generatedName(generateName),
      generateName,
      namespace,
      labels: {
        ...Object.fromEntries(Object.entries(labels).filter(([label]) => !OWN_LABELS.has(label))),
        [LABELS.previous]: name,
      },
      annotations,
      ...(ownerReferences !== undefined && { ownerReferences }),
    },
    spec: withParameters(
      { ...spec, ...(deadline !== undefined && deadline !== 0 && { activeDeadlineSeconds: deadline }) },
      parameters,
    ),
  }
}

/** Returns a spec with values of parameters, which win over those that it has. */
function withParameters(spec: Readonly<Record<string, unknown>>, parameters: Parameters): Record<string, unknown> {
  if (parameters.length === 0) return { ...spec }
  const given = isRecord(spec['arguments']) ? spec['arguments'] : {}
  const own: readonly unknown[] = Array.isArray(given['parameters']) ? given['parameters'] : []
  const names = new Set<unknown>(parameters.map(({ name }) => name))
  const others = own.filter((one) => !isRecord(one) || !names.has(one['name']))
  return { ...spec, arguments: { ...given, parameters: [...parameters, ...others] } }
}
