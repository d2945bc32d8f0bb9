/** Reads a Workflow of Argo Workflows (`argoproj.io/v1alpha1`) as its cluster has it, in the spelling of this API. */
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { defined, excessOf, fault } from '@windlass/kit'
import { parseJson } from '@windlass/kit/json'
import {
  WORKFLOW_NODE_PHASES,
  WORKFLOW_PHASES,
  type RuntimeWorkflow,
  type WorkflowLock,
  type WorkflowNode as ShownNode,
  type WorkflowPhase,
  type WorkflowSummary,
} from '@windlass/protocol'
import type { KubeObject } from '@windlass/kube'
import { z } from 'zod'
import { list, text, time, timeOf } from '../object-fields.ts'

/** Labels and annotations of Argo Workflows. */
export const LABELS = {
  actor: 'workflows.argoproj.io/actor',
  action: 'workflows.argoproj.io/action',
  archiving: 'workflows.argoproj.io/workflow-archiving-status',
  completed: 'workflows.argoproj.io/completed',
  creator: 'workflows.argoproj.io/creator',
  creatorEmail: 'workflows.argoproj.io/creator-email',
  creatorName: 'workflows.argoproj.io/creator-preferred-username',
  node: 'workflows.argoproj.io/node-id',
  phase: 'workflows.argoproj.io/phase',
  previous: 'workflows.argoproj.io/resubmitted-from-workflow',
  template: 'workflows.argoproj.io/workflow-template',
  workflow: 'workflows.argoproj.io/workflow',
} as const

/** Nodes that an answer has. */
const MAX_NODES = 5_000
/** Bytes of the nodes that Argo Workflows has compressed to 1 MiB at most. */
const MAX_NODES_BYTES = 16_777_216
/** Fields and list items of these nodes: small objects take up to a hundred times their bytes in memory. */
const MAX_NODES_PARTS = 500_000

const words = z
  .record(z.string(), z.string())
  .nullish()
  .transform((value) => value ?? {})

/** The fields of a node that are read. */
const Node = z.looseObject({
  id: z.string(),
  name: z.string(),
  displayName: text,
  type: z.string().nullish(),
  phase: z.string().nullish(),
  message: text,
  children: list(z.string()),
  outboundNodes: list(z.string()),
  boundaryID: text,
  startedAt: time,
  finishedAt: time,
  nodeFlag: z.looseObject({ retried: z.boolean().nullish() }).nullish(),
  outputs: z
    .looseObject({ artifacts: list(z.looseObject({ name: text, s3: z.looseObject({ key: text }).nullish() })) })
    .nullish(),
})
export type Node = z.output<typeof Node>
const Nodes = z.record(z.string(), Node)

const Holding = z.looseObject({ semaphore: text, mutex: text })
const Locks = z.looseObject({ holding: list(Holding), waiting: list(Holding) }).nullish()

/** The fields that are read. */
const WorkflowShape = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    generateName: text,
    resourceVersion: z.string().optional(),
    creationTimestamp: time,
    labels: words,
    annotations: words,
  }),
  spec: z.looseObject({
    shutdown: text,
    activeDeadlineSeconds: z.number().nullish(),
    arguments: z
      .looseObject({
        parameters: list(z.looseObject({ name: z.string(), value: z.union([z.string(), z.number(), z.boolean()]).nullish() })),
      })
      .nullish(),
  }),
  status: z
    .looseObject({
      phase: text,
      message: text,
      progress: text,
      startedAt: time,
      finishedAt: time,
      nodes: z.unknown().optional(),
      compressedNodes: z.string().nullish(),
      offloadNodeStatusVersion: text,
      conditions: list(z.looseObject({ type: z.string() })),
      storedWorkflowTemplateSpec: z.looseObject({}).nullish(),
      synchronization: z.looseObject({ semaphore: Locks, mutex: Locks }).nullish(),
    })
    .nullish(),
})

export interface Workflow {
  readonly metadata: z.output<typeof WorkflowShape>['metadata']
  readonly spec: z.output<typeof WorkflowShape>['spec']
  readonly status: NonNullable<z.output<typeof WorkflowShape>['status']> | undefined
  /** By their ids. Undefined if Argo Workflows keeps them in its database. */
  readonly nodes: ReadonlyMap<string, Node> | undefined
  /** As the cluster has them, for changes. */
  readonly object: KubeObject
  readonly rawNodes: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Throws `conflict` if it does not have the form of a workflow. */
export async function readWorkflow(object: KubeObject): Promise<Workflow> {
  const { name } = object.metadata
  const { metadata, spec, status } = requireShape(name, WorkflowShape, object)
  const compressed = status?.compressedNodes ?? ''
  const rawNodes = compressed === '' ? (status?.nodes ?? {}) : await unpack(name, compressed)
  const nodes = requireShape(name, Nodes, rawNodes)
  const areElsewhere = status?.offloadNodeStatusVersion !== undefined
  return {
    metadata,
    spec,
    status: status ?? undefined,
    nodes: areElsewhere ? undefined : new Map(Object.entries(nodes)),
    object,
    // The shape has been checked.
    rawNodes: rawNodes as Workflow['rawNodes'],
  }
}

async function unpack(name: string, compressed: string): Promise<unknown> {
  try {
    const bytes = await promisify(gunzip)(Buffer.from(compressed, 'base64'), { maxOutputLength: MAX_NODES_BYTES })
    const json = bytes.toString()
    const excess = excessOf(json, { max: MAX_NODES_PARTS, left: MAX_NODES_PARTS })
    if (excess === 'parts') throw new Error(`it has more than ${MAX_NODES_PARTS} fields and list items`)
    if (excess === 'levels') throw new Error('it has too many lists and objects inside each other')
    return parseJson(json)
  } catch (error) {
    throw unreadable(name, error)
  }
}

function requireShape<S extends z.ZodType>(name: string, schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw unreadable(name, parsed.error, parsed.error.issues[0]?.path.join('.'))
}

function unreadable(name: string, cause: unknown, place = ''): Error {
  const where = place === '' ? '' : `: ${place.slice(0, 200)}`
  return fault(
    'conflict',
    {
      message: `The workflow "${name}" does not have the form of Argo Workflows${where}.`,
      hint: 'Look at it with `kubectl get workflow`.',
    },
    cause,
  )
}

/** Returns nodes as Argo Workflows compresses them. */
export async function packNodes(nodes: object): Promise<string> {
  return (await promisify(gzip)(JSON.stringify(nodes))).toString('base64')
}

/** Returns what a list shows, which is in the metadata. */
export function toSummary({ metadata }: Pick<KubeObject, 'metadata'>): WorkflowSummary {
  const { name, labels = {}, creationTimestamp } = metadata
  return {
    name,
    phase: phaseOf(labels[LABELS.phase]),
    createdAt: timeOf(creationTimestamp) ?? 0,
    ...defined({ template: labels[LABELS.template], by: labels[LABELS.creatorName] ?? labels[LABELS.creator] }),
  }
}

/** Returns what is shown of one workflow. */
export function toRuntimeWorkflow(workflow: Workflow, pods: RuntimeWorkflow['pods']): RuntimeWorkflow {
  const { metadata, spec, status, nodes, object } = workflow
  const shutdown = spec.shutdown?.toLowerCase()
  return {
    ...toSummary(object),
    phase: phaseOf(status?.phase),
    parameters: (spec.arguments?.parameters ?? []).map(({ name, value }) => ({ name, value: String(value ?? '') })),
    locks: locksOf(status?.synchronization),
    nodes: [...(nodes?.values() ?? [])].slice(0, MAX_NODES).map(toShownNode),
    pods,
    ...defined({
      message: status?.message,
      progress: status?.progress,
      startedAt: status?.startedAt,
      finishedAt: status?.finishedAt,
      shutdown: shutdown === 'stop' || shutdown === 'terminate' ? shutdown : undefined,
      resubmittedFrom: metadata.labels[LABELS.previous],
    }),
    ...(nodes === undefined && { areNodesElsewhere: true }),
  }
}

/** One that its controller has not seen yet has no phase. */
function phaseOf(word: string | undefined): WorkflowPhase {
  return word === undefined ? 'pending' : (WORKFLOW_PHASES.find((phase) => phase === word.toLowerCase()) ?? 'unknown')
}

function toShownNode({ id, name, displayName, type, phase, message, children, startedAt, finishedAt }: Node): ShownNode {
  return {
    id,
    name: displayName ?? name,
    type: type ?? 'Unknown',
    phase: WORKFLOW_NODE_PHASES.find((known) => known === (phase ?? 'pending').toLowerCase()) ?? 'unknown',
    children,
    ...defined({ message, startedAt, finishedAt }),
  }
}

type Synchronization = NonNullable<z.output<typeof WorkflowShape>['status']>['synchronization']

function locksOf(synchronization: Synchronization): WorkflowLock[] {
  return (['semaphore', 'mutex'] as const).flatMap((kind) => {
    const { holding = [], waiting = [] } = synchronization?.[kind] ?? {}
    const toLocks = (items: typeof holding, state: WorkflowLock['state']): WorkflowLock[] =>
      items.flatMap((item) => (item[kind] === undefined ? [] : [{ kind, name: item[kind], state }]))
    return [...toLocks(waiting, 'waiting'), ...toLocks(holding, 'held')]
  })
}
