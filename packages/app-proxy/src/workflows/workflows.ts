/**
 * Workflows of the namespace of the runtime, read and changed as Kubernetes objects: the controller of Argo Workflows carries out what stands in them, so no server of Argo Workflows is
 * needed (docs/development/adr/0153-operations-on-workflows.md).
 */
import { fault, isFault, type Clock } from '@windlass/kit'
import { isAlreadyThere, type Kube, type KubeObject, type ObjectRef } from '@windlass/kube'
import type {
  RuntimeWorkflow,
  WorkflowInput,
  WorkflowList,
  WorkflowListQuery,
  WorkflowLog,
  WorkflowLogQuery,
  WorkflowSubmission,
} from '@windlass/protocol'
import { noteEffect, noteSubject } from '../audit/call.ts'
import type { LogArchive } from './archive.ts'
import { archivedPods } from './archived-logs.ts'
import { fromManifest, fromTemplate, labelOf, resubmissionOf, retryOf, shutdownPatch } from './changes.ts'
import { sourcesOf } from './log-sources.ts'
import { readLogs } from './logs.ts'
import { LABELS, readWorkflow, toRuntimeWorkflow, toSummary, type Workflow } from './manifest.ts'

/** How often a change is made again after the controller has changed the same workflow. */
const MAX_TRIES = 10

/** What an operation needs of a call. */
export interface WorkflowCall {
  readonly caller: { readonly userId: string; readonly userName: string }
}

export interface Workflows {
  /** Lists those of the namespace, newest first. */
  list(query: WorkflowListQuery): Promise<WorkflowList>
  /** Throws `not-found`, as all that follow. */
  get(name: string): Promise<RuntimeWorkflow>
  /** Returns only how it goes, with one call of the cluster. */
  look(name: string, signal: AbortSignal): Promise<Pick<RuntimeWorkflow, 'phase' | 'message'>>
  /** Returns the last lines of the pods that exist or have archived logs, by their times. */
  logs(name: string, query: WorkflowLogQuery): Promise<WorkflowLog>
  /** Submits a workflow of a template of the namespace. */
  submit(call: WorkflowCall, template: string, input: WorkflowInput): Promise<RuntimeWorkflow>
  /** Submits any workflow. Throws `request-invalid`, and `conflict` if its name is in use. */
  create(call: WorkflowCall, input: WorkflowSubmission): Promise<RuntimeWorkflow>
  /** Submits a workflow with the spec of another one. */
  resubmit(call: WorkflowCall, name: string, input: WorkflowInput): Promise<RuntimeWorkflow>
  /** Lets the nodes that failed run again. Throws `conflict` if the workflow has not failed, and `not-supported` if its nodes are not in the cluster. */
  retry(call: WorkflowCall, name: string): Promise<RuntimeWorkflow>
  /** Ends it, with its exit handler. Throws `conflict` if it has ended. */
  stop(call: WorkflowCall, name: string): Promise<RuntimeWorkflow>
  /** Ends it at once. Throws like `stop`. */
  terminate(call: WorkflowCall, name: string): Promise<RuntimeWorkflow>
  /** Deletes it with its pods. */
  remove(name: string, options: { readonly force: boolean }): Promise<void>
}

export interface WorkflowsOptions {
  readonly kube: Kube
  readonly namespace: string
  readonly clock: Clock
  /** Undefined if the runtime does not read archived logs. */
  readonly archive: LogArchive | undefined
}

export function openWorkflows({ kube, namespace, clock, archive }: WorkflowsOptions): Workflows {
  const refTo = (name: string): ObjectRef => ({ kind: 'Workflow', namespace, name })

  async function load(name: string, signal?: AbortSignal): Promise<Workflow> {
    const found = await kube.find(refTo(name), signal)
    if (found !== undefined) return readWorkflow(found)
    throw notFound(name)
  }

  /** Returns the pods of a workflow that exist by name, with the ids of their nodes. */
  async function podsOf(name: string): Promise<RuntimeWorkflow['pods']> {
    const labels = `${LABELS.workflow}=${labelOf(name)}`
    const pods = await kube.list({ kind: 'Pod', namespace, labels, content: 'metadata' })
    return pods
      .map(({ metadata }) => ({ name: metadata.name, node: metadata.annotations?.[LABELS.node] ?? metadata.name }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  async function show(workflow: Workflow): Promise<RuntimeWorkflow> {
    const live = await podsOf(workflow.metadata.name)
    const nodes = new Set(live.map(({ node }) => node))
    const archived = archive === undefined ? [] : archivedPods(workflow).filter(({ node }) => !nodes.has(node))
    return toRuntimeWorkflow(workflow, [...live, ...archived.map(({ name, node }) => ({ name, node, isArchived: true }))])
  }

  /** Changes a workflow by what `plan` makes of it. Starts again if the controller has changed it meanwhile. */
  async function change(name: string, plan: (workflow: Workflow) => Promise<Record<string, unknown>>): Promise<RuntimeWorkflow> {
    for (let tries = 1; ; tries += 1) {
      const workflow = await load(name)
      const { metadata = {}, ...rest } = await plan(workflow)
      const { resourceVersion } = workflow.metadata
      try {
        // A patch of metadata is an object.
        const patch = { ...rest, metadata: { ...(metadata as object), resourceVersion } }
        return await show(await readWorkflow(await kube.patch(refTo(name), patch)))
      } catch (error) {
        if (isFault(error, 'not-found')) throw notFound(name)
        if (tries >= MAX_TRIES || !isFault(error, 'conflict')) throw error
        await clock.sleep(20 * tries)
      }
    }
  }

  /** Creates a workflow in the name of the caller. */
  async function begin({ caller }: WorkflowCall, object: KubeObject): Promise<RuntimeWorkflow> {
    const { name, labels } = object.metadata
    const userName = labelOf(caller.userName)
    const by = { [LABELS.creator]: caller.userId, ...(userName !== '' && { [LABELS.creatorName]: userName }) }
    noteSubject(`workflow ${name}`)
    try {
      const made = await kube.create({ ...object, metadata: { ...object.metadata, labels: { ...labels, ...by } } })
      return await show(await readWorkflow(made))
    } catch (error) {
      if (!isAlreadyThere(error)) throw error
      throw fault(
        'conflict',
        {
          message: `The namespace of the runtime has a workflow "${name}" already.`,
          hint: 'Give it another name, or let one be generated with metadata.generateName.',
        },
        error,
      )
    }
  }

  const end = (how: 'Stop' | 'Terminate') => (call: WorkflowCall, name: string) =>
    change(name, async (workflow) => shutdownPatch(workflow, how, call.caller.userName))

  return {
    async list({ phase, template, limit }) {
      const terms = [
        // One that the controller has not seen yet has no phase.
        ...(phase === undefined ? [] : [phase === 'pending' ? pendingTerm() : `${LABELS.phase}=${capital(phase)}`]),
        ...(template === undefined ? [] : [`${LABELS.template}=${template}`]),
      ]
      const labels = terms.length === 0 ? undefined : terms.join(',')
      const found = await kube.list({ kind: 'Workflow', namespace, labels, content: 'metadata' })
      const items = found.map(toSummary).toSorted((a, b) => b.createdAt - a.createdAt || (a.name < b.name ? -1 : 1))
      return { items: items.slice(0, limit), ...(items.length > limit && { isCut: true }) }
    },
    get: async (name) => show(await load(name)),
    look: async (name, signal) => toRuntimeWorkflow(await load(name, signal), []),
    async logs(name, query) {
      const workflow = await load(name)
      const sources = sourcesOf(workflow, { live: await podsOf(name), prefix: archive?.prefix }, query)
      return readLogs({ kube, namespace, clock, archive }, sources, query)
    },
    async submit(call, template, { parameters }) {
      if ((await kube.find({ kind: 'WorkflowTemplate', namespace, name: template })) === undefined)
        throw fault('not-found', {
          message: `The template "${template}" does not exist in the namespace of the runtime.`,
          hint: 'Templates come from Git: commit a WorkflowTemplate to a Git source.',
        })
      return begin(call, fromTemplate(template, namespace, parameters))
    },
    create: (call, { manifest, parameters }) => begin(call, fromManifest(manifest, namespace, parameters)),
    resubmit: async (call, name, { parameters }) => begin(call, resubmissionOf(await load(name), namespace, parameters)),
    retry: ({ caller }, name) =>
      change(name, async (workflow) => {
        const { patch, removed } = await retryOf(workflow, caller.userName, new Date(clock.now()))
        for (const pod of await podsOf(name)) {
          if (!removed.has(pod.node)) continue
          noteEffect()
          await kube.delete({ kind: 'Pod', namespace, name: pod.name })
        }
        return patch
      }),
    stop: end('Stop'),
    terminate: end('Terminate'),
    async remove(name, { force }) {
      if (force)
        await kube.patch(refTo(name), { metadata: { finalizers: null } }).catch((error: unknown) => {
          if (!isFault(error, 'not-found')) throw error
        })
      if (!(await kube.delete(refTo(name)))) throw notFound(name)
    },
  }
}

/** The phase is a label, which a workflow without a phase does not have. */
function pendingTerm(): string {
  return `${LABELS.phase} notin (Running,Succeeded,Failed,Error)`
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

function notFound(name: string): Error {
  return fault('not-found', {
    message: `The workflow "${name}" does not exist in the namespace of the runtime.`,
    hint: 'List them with `windlass gitops workflow list RUNTIME`. Argo Workflows deletes old ones.',
  })
}
