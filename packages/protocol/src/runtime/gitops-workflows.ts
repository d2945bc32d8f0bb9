/** Workflows of Argo Workflows as the app-proxy of a GitOps runtime reads them in its cluster, and the operations on them (docs/development/adr/0153-operations-on-workflows.md). */
import { z } from 'zod'
import { Time } from '../base.ts'
import { ContainerLog } from './gitops-applications.ts'

/** `unknown`: a word that this version does not know. */
export const WORKFLOW_PHASES = ['pending', 'running', 'succeeded', 'failed', 'error', 'unknown'] as const
export type WorkflowPhase = (typeof WORKFLOW_PHASES)[number]

/** Those of a node of a workflow. */
export const WORKFLOW_NODE_PHASES = [...WORKFLOW_PHASES, 'skipped', 'omitted'] as const
export type WorkflowNodePhase = (typeof WORKFLOW_NODE_PHASES)[number]

/** Name of an object of Kubernetes. */
export const WorkflowName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be a name of Kubernetes: lower-case letters, digits, - and .')

/** What a list shows. Durations and messages are not in the metadata of a workflow, which is all that a list reads. */
export const WorkflowSummary = z.object({
  name: z.string(),
  /** As Argo Workflows wrote it last. */
  phase: z.enum(WORKFLOW_PHASES),
  /** Template of which it was submitted. */
  template: z.string().optional(),
  /** Who submitted it. Argo Workflows keeps only letters, digits, `-`, `_` and `.` of a name. */
  by: z.string().optional(),
  createdAt: Time,
})
export type WorkflowSummary = z.infer<typeof WorkflowSummary>

export const WorkflowList = z.object({
  /** Newest first. */
  items: z.array(WorkflowSummary),
  /** True if there are more. The older ones are left out. */
  isCut: z.boolean().optional(),
})
export type WorkflowList = z.infer<typeof WorkflowList>

export const WorkflowListQuery = z.object({
  phase: z.enum(['pending', 'running', 'succeeded', 'failed', 'error']).optional(),
  template: WorkflowName.max(63).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
})
export type WorkflowListQuery = z.output<typeof WorkflowListQuery>

/** A node of the graph of a workflow: a pod, a group of nodes, or a wait. */
export const WorkflowNode = z.object({
  id: z.string(),
  /** As templates name it. */
  name: z.string(),
  /** The word of Argo Workflows: `Pod`, `Steps`, `StepGroup`, `DAG`, `TaskGroup`, `Retry`, `Suspend`, … */
  type: z.string(),
  phase: z.enum(WORKFLOW_NODE_PHASES),
  message: z.string().optional(),
  /** Ids of the nodes that follow it. */
  children: z.array(z.string()),
  startedAt: Time.optional(),
  finishedAt: Time.optional(),
})
export type WorkflowNode = z.infer<typeof WorkflowNode>

/** A semaphore or a mutex, as Argo Workflows names it, such as `prod/ConfigMap/limits/deploy`. */
export const WorkflowLock = z.object({
  kind: z.enum(['semaphore', 'mutex']),
  name: z.string(),
  state: z.enum(['held', 'waiting']),
})
export type WorkflowLock = z.infer<typeof WorkflowLock>

export const RuntimeWorkflow = WorkflowSummary.extend({
  message: z.string().optional(),
  /** Finished and all nodes, such as `2/3`. */
  progress: z.string().optional(),
  startedAt: Time.optional(),
  finishedAt: Time.optional(),
  /** How it is ended, if somebody asked for it. */
  shutdown: z.enum(['stop', 'terminate']).optional(),
  /** The workflow that it repeats. */
  resubmittedFrom: z.string().optional(),
  parameters: z.array(z.object({ name: z.string(), value: z.string() })),
  locks: z.array(WorkflowLock),
  nodes: z.array(WorkflowNode),
  /** True if Argo Workflows keeps the nodes in its database, where only its server reads them. */
  areNodesElsewhere: z.boolean().optional(),
  /** Pods of the workflow that exist, and those that are deleted and have an archived log. */
  pods: z.array(z.object({ name: z.string(), node: z.string(), isArchived: z.boolean().optional() })),
})
export type RuntimeWorkflow = z.infer<typeof RuntimeWorkflow>

/** A value of a parameter of a workflow. */
export const WorkflowParameter = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(253)
    .regex(/^[\w-]+$/, 'must be the name of a parameter: letters, digits, - and _'),
  value: z.string().max(65_536),
})
export type WorkflowParameter = z.output<typeof WorkflowParameter>

const Parameters = z.array(WorkflowParameter).max(200).default([])

/** What a workflow of a template, or one that repeats another, gets from its caller. */
export const WorkflowInput = z.strictObject({ parameters: Parameters })
export type WorkflowInput = z.output<typeof WorkflowInput>

const Labels = z.record(z.string().max(320), z.string().max(4_096)).default({})

/** A workflow as a file has it. Fields of the metadata that are not here are not taken over. */
export const WorkflowManifest = z.object({
  apiVersion: z.literal('argoproj.io/v1alpha1'),
  kind: z.literal('Workflow'),
  metadata: z.object({
    name: WorkflowName.max(63).optional(),
    generateName: z
      .string()
      .max(58)
      .regex(/^[a-z0-9][a-z0-9.-]*$/, 'must begin a name of Kubernetes')
      .optional(),
    namespace: z.string().max(63).optional(),
    labels: Labels,
    annotations: Labels,
  }),
  spec: z.record(z.string(), z.unknown()),
})
export type WorkflowManifest = z.output<typeof WorkflowManifest>

export const WorkflowSubmission = z.strictObject({ manifest: WorkflowManifest, parameters: Parameters })
export type WorkflowSubmission = z.output<typeof WorkflowSubmission>

export const WorkflowRemoval = z.object({
  /** Delete it without what Argo Workflows does first, such as the deletion of its artifacts. */
  force: z.stringbool().default(false),
})

export const WorkflowLogQuery = z.object({
  /** Name of a pod, or the id of its node. Default: all pods of the workflow that have a log. */
  pod: WorkflowName.optional(),
  container: z
    .string()
    .max(63)
    .regex(/^[a-z0-9-]+$/, 'must be the name of a container')
    .default('main'),
  /** Number of lines from the end. */
  tail: z.coerce.number().int().min(1).max(5_000).default(500),
  /** Age of the oldest line. Seconds. */
  since: z.coerce.number().int().min(1).max(31_536_000).optional(),
  /** `at` of a line that the caller has. The answer begins some seconds before it. */
  after: z.iso.datetime({ offset: true }).optional(),
  /** Read no archived log. An archived log gets no new lines, so this is for callers that follow one. */
  live: z.stringbool().default(false),
})
export type WorkflowLogQuery = z.output<typeof WorkflowLogQuery>

export const WorkflowLog = ContainerLog.extend({
  /** Pods whose lines come from the archive of the runtime. These lines have no times. */
  archived: z.array(z.string()).optional(),
  /** Pods whose logs cannot be read. A call for one of them says why. */
  missing: z.array(z.string()).optional(),
})
export type WorkflowLog = z.infer<typeof WorkflowLog>
