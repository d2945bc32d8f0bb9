/** Reported rollouts and workflows as callers see them. */
import { defined, fault, isId } from '@windlass/kit'
import { parseJson } from '@windlass/kit/json'
import {
  REPORTER_SILENT_MS,
  ROLLOUT_PHASES,
  WORKFLOW_PHASES,
  type ReportedRollout,
  type ReportedRolloutDetails,
  type ReportedRolloutQuery,
  type ReportedWorkflow,
  type ReportedWorkflowDetails,
  type ReportedWorkflowQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { CursorText, readCursor, writeCursor } from '../../store/cursor.ts'
import { listReportTimes } from '../../store/runtimes/applications.ts'
import { findGitopsRuntime, listGitopsRuntimeNames } from '../../store/runtimes/gitops.ts'
import {
  findObject,
  listObjects,
  listReplicaSets,
  OBJECT_ORDERS,
  type ListedKind,
  type ListedObject,
} from '../../store/runtimes/reported-objects.ts'
import type { ReportedObjectRow } from '../../store/schema/schema.ts'
import { unknownRuntime } from '../runtimes.ts'
import { ReplicaSetFacts, RolloutFacts, RolloutHistory, WorkflowFacts, WorkflowHistory } from './stored-objects.ts'

interface Page<T> {
  readonly items: T[]
  readonly next?: string
}

/** Lists rollouts by name. Throws `not-found` for an unknown runtime, and `request-invalid` for a cursor of another list. */
export async function listRolloutPage(app: App, { application, ...query }: ReportedRolloutQuery): Promise<Page<ReportedRollout>> {
  const { rows, next } = await listPage(app, 'Rollout', { ...query, partOf: application })
  const view = await openView(app)
  return { items: rows.map((row) => toRollout(row, view)), ...defined({ next }) }
}

/** Lists workflows, the last one first. Throws as `listRolloutPage`. */
export async function listWorkflowPage(app: App, { template, ...query }: ReportedWorkflowQuery): Promise<Page<ReportedWorkflow>> {
  const { rows, next } = await listPage(app, 'Workflow', { ...query, partOf: template })
  const view = await openView(app)
  return { items: rows.map((row) => toWorkflow(row, view)), ...defined({ next }) }
}

/** Returns a rollout by its id, or by RUNTIME/NAMESPACE/NAME. Throws `not-found`. */
export async function showRollout(app: App, name: string): Promise<ReportedRolloutDetails> {
  const row = await findNamed(app, 'Rollout', name)
  const replicaSets = await listReplicaSets(app.store.query, row)
  return {
    ...toRollout(row, await openView(app)),
    revisions: replicaSets.map((one) => ({
      ...ReplicaSetFacts.parse(parseJson(one.facts)),
      name: one.name,
      createdAt: one.created_at,
    })),
    history: RolloutHistory.parse(parseJson(row.history)),
  }
}

/** Returns a workflow by its id, or by RUNTIME/NAMESPACE/NAME. Throws `not-found`. */
export async function showWorkflow(app: App, name: string): Promise<ReportedWorkflowDetails> {
  const row = await findNamed(app, 'Workflow', name)
  return {
    ...toWorkflow(row, await openView(app)),
    failedNodes: WorkflowFacts.parse(parseJson(row.facts)).failedNodes,
    history: WorkflowHistory.parse(parseJson(row.history)),
  }
}

interface ListQuery {
  readonly cursor?: string | undefined
  readonly limit: number
  readonly runtime?: string | undefined
  readonly namespace?: string | undefined
  readonly phase?: string | undefined
  readonly partOf?: string | undefined
  readonly uid?: string | undefined
  readonly q?: string | undefined
}

async function listPage(
  app: App,
  kind: ListedKind,
  { cursor, limit, runtime, q: part, ...filter }: ListQuery,
): Promise<{ readonly rows: readonly ListedObject[]; readonly next: string | undefined }> {
  const { query } = app.store
  const found = runtime === undefined ? undefined : await findGitopsRuntime(query, app.accountId, runtime)
  if (runtime !== undefined && found === undefined) unknownRuntime(runtime)
  const after = cursor === undefined ? undefined : placeIn(cursor, kind)
  const rows = await listObjects(query, {
    ...filter,
    kind,
    accountId: app.accountId,
    runtimeId: found?.id,
    part,
    after,
    limit: limit + 1,
  })
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  if (rows.length <= limit || last === undefined) return { rows: shown, next: undefined }
  return { rows: shown, next: writeCursor([kind, last[OBJECT_ORDERS[kind].column], last.id]) }
}

function placeIn(cursor: string, kind: ListedKind): { readonly value: string | number; readonly id: string } {
  const value = kind === 'Rollout' ? CursorText : z.int()
  const [, at, id] = readCursor(cursor, z.tuple([z.literal(kind), value, CursorText]))
  return { value: at, id }
}

const WORDS: Readonly<Record<ListedKind, string>> = { Rollout: 'rollout', Workflow: 'workflow' }

async function findNamed(app: App, kind: ListedKind, text: string): Promise<ReportedObjectRow> {
  const { store, accountId } = app
  const [runtimeName = '', namespace = '', name = '', ...rest] = text.split('/')
  const isPlace = !isId(text) && rest.length === 0
  const runtime = isPlace ? await findGitopsRuntime(store.query, accountId, runtimeName) : undefined
  const of = isId(text) ? { id: text } : runtime && { runtimeId: runtime.id, namespace, name }
  const row = of && (await findObject(store.query, { accountId, kind }, of))
  if (row !== undefined) return row
  const word = WORDS[kind]
  throw fault('not-found', {
    message: `No GitOps runtime has reported the ${word} "${text}".`,
    hint: `List them with \`windlass get ${word}s\`.`,
  })
}

/** What all objects have of their runtimes. */
interface View {
  readonly runtimeOf: (row: ListedObject) => string
  /** When the object or its runtime was last reported, if that is so long ago that the state may be out of date. */
  readonly silentSinceOf: (row: ListedObject) => number | undefined
}

async function openView({ store, accountId, clock }: App): Promise<View> {
  const now = clock.now()
  const runtimes = await listGitopsRuntimeNames(store.query, accountId)
  const reports = await listReportTimes(store.query, accountId)
  return {
    runtimeOf: ({ runtime_id: id }) => runtimes.get(id) ?? '',
    silentSinceOf(row) {
      const { seenAt: heardAt = row.reported_at, fullAt = 0 } = reports.get(row.runtime_id) ?? {}
      // The reporter does not read the kind any more.
      const isUnnamed = row.listed_at > 0 && fullAt - row.listed_at > REPORTER_SILENT_MS
      const since = isUnnamed ? row.listed_at : heardAt
      return row.ended_at === null && now - since > REPORTER_SILENT_MS ? since : undefined
    },
  }
}

function commonOf(row: ListedObject, { runtimeOf, silentSinceOf }: View) {
  return {
    id: row.id,
    runtime: runtimeOf(row),
    namespace: row.namespace,
    name: row.name,
    uid: row.uid,
    since: row.state_since,
    reportedAt: row.reported_at,
    createdAt: row.created_at,
    ...defined({ silentSince: silentSinceOf(row) }),
  }
}

function toRollout(row: ListedObject, view: View): ReportedRollout {
  return {
    ...commonOf(row, view),
    ...RolloutFacts.parse(parseJson(row.facts)),
    phase: ROLLOUT_PHASES.find((phase) => phase === row.phase) ?? 'unknown',
    ...defined({ application: row.part_of === '' ? undefined : row.part_of }),
  }
}

function toWorkflow(row: ListedObject, view: View): ReportedWorkflow {
  const { failedNodes: _failed, ...facts } = WorkflowFacts.parse(parseJson(row.facts))
  return {
    ...commonOf(row, view),
    ...facts,
    phase: WORKFLOW_PHASES.find((phase) => phase === row.phase) ?? 'unknown',
    ...defined({ template: row.part_of === '' ? undefined : row.part_of, goneAt: row.ended_at ?? undefined }),
  }
}
