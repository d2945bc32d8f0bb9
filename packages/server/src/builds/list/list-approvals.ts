/** Approvals of all builds, with what the caller may do. */
import type { Plan } from '@windlass/plan'
import type { ApprovalItem, ApprovalQuery } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { mayDo, placesOf, type Actor } from '../../identity/actor.ts'
import {
  listDecidedApprovals,
  listOpenApprovals,
  type ApprovalOfBuild,
  type ApprovalPlace,
} from '../../store/builds/approvals.ts'
import { foreignCursor } from '../../store/cursor.ts'
import { listSmallPlans } from '../../store/builds/builds.ts'
import { readPlan } from '../create/snapshot.ts'
import { present } from '../lifecycle/present.ts'
import { toApproval } from '../lifecycle/view.ts'
import { toRef } from './limit-use.ts'
import { placeOf, type Place } from '../../store/places.ts'

const MAX_NEXT = 20

/** Returns a page of the approvals of the builds that the caller may see. Throws `request-invalid` for a cursor of another list. */
export async function listApprovalPage(
  app: App,
  actor: Actor,
  { state, cursor, limit, pipeline }: z.output<typeof ApprovalQuery>,
): Promise<{ readonly items: ApprovalItem[]; readonly next?: string }> {
  const { query } = app.store
  const list = state === 'open' ? listOpenApprovals : listDecidedApprovals
  const places = placesOf(actor, 'see-builds')
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const rows = await list(query, { accountId: app.accountId, places, pipeline, after, limit })
  const last = rows.length === limit ? rows.at(-1) : undefined
  return {
    items: await toApprovalItems(app, rows, actor),
    ...present({ next: last && writeCursor(last) }),
  }
}

/** Converts approvals to their list form for a caller. */
export async function toApprovalItems(app: App, rows: readonly ApprovalOfBuild[], actor: Actor): Promise<ApprovalItem[]> {
  const stored = await listSmallPlans(app.store.query, [...new Set(rows.map((row) => row.build_id))])
  const plans = new Map(stored.map((row) => [row.build_id, readPlan(row)]))
  return rows.map((row) => toItem(row, { actor, plan: plans.get(row.build_id) }))
}

interface Known {
  readonly actor: Actor
  readonly plan: Plan | undefined
}

function toItem(row: ApprovalOfBuild, { actor, plan }: Known): ApprovalItem {
  const { build_id: id, decision, step } = row
  return {
    ...toApproval(row),
    build: toRef({ ...row, id }),
    may: decision === null && mayDecide(actor, placeOf(row)),
    next: plan === undefined ? [] : followersOf(plan, step).slice(0, MAX_NEXT),
  }
}

/** Returns true if the caller may decide approvals of the builds of a place. */
export function mayDecide(actor: Actor, place: Place): boolean {
  return mayDo(actor, { right: 'decide-approvals', scope: 'build:write' }, place)
}

/** Returns the steps that wait for a step. */
function followersOf({ steps }: Plan, step: string): string[] {
  const follows = ({ after, when }: Plan['steps'][number]): boolean =>
    after.includes(step) || (when?.steps?.of.some(({ name }) => name === step) ?? false)
  return steps.filter((one) => one.hook === undefined && follows(one)).map(({ name }) => name)
}

function writeCursor({ decided_at: decidedAt, expires_at: expiresAt, build_id: id, step }: ApprovalOfBuild): string {
  return `${decidedAt ?? expiresAt}.${id}.${step}`
}

function readCursor(text: string): ApprovalPlace {
  const [, at, buildId, step] = /^(\d{1,15})\.([0-9a-f]{24})\.(.*)$/s.exec(text) ?? []
  if (at === undefined || buildId === undefined || step === undefined) throw foreignCursor()
  return { at: Number(at), buildId, step }
}
