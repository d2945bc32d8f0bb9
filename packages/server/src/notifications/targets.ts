/** The pipelines and projects that a notification names, and who may name and see them. */
import { fault } from '@windlass/kit'
import type { App } from '../app.ts'
import { hidden, placesOf, requireRight, type Actor } from '../identity/actor.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import { findProject } from '../store/pipelines/projects.ts'
import { listTargets, type Target } from '../store/notifications.ts'
import type { NotificationRow } from '../store/schema/schema.ts'
import type { Query } from '../store/store.ts'
import { StoredRule } from './rule.ts'
import { isWithin, NO_PLACE, placeOf } from '../store/places.ts'

/** The pipelines and projects that a notification names. */
export interface Targets {
  readonly pipelines: readonly Target[]
  readonly projects: readonly Target[]
}

export function countTargets(targets: Targets): number {
  return all(targets).length
}

const all = ({ pipelines, projects }: Targets): readonly Target[] => [...pipelines, ...projects]

/** Finds pipelines and projects by name. One that the caller must not know is not found, like one that does not exist. */
export async function resolveTargets(
  app: App,
  query: Query,
  {
    names,
    actor,
  }: { readonly names: { readonly pipelines: readonly string[]; readonly projects: readonly string[] }; readonly actor: Actor },
): Promise<Targets> {
  const missing = (what: string): Error =>
    actor.kind === 'key' && actor.role === 'none' ? hidden() : fault('not-found', { message: `The ${what} does not exist.` })
  const pipelines = new Map<string, Target>()
  for (const name of names.pipelines) {
    const row = await findPipeline(query, app.accountId, name)
    if (row === undefined) throw missing(`pipeline "${name}"`)
    pipelines.set(row.id, { id: row.id, name: row.name, project_id: row.project_id, pipeline_id: row.id })
  }
  const projects = new Map<string, Target>()
  for (const name of names.projects) {
    const row = await findProject(query, app.accountId, name)
    if (row === undefined) throw missing(`project "${name}"`)
    projects.set(row.id, { id: row.id, name: row.name, project_id: row.id, pipeline_id: null })
  }
  return { pipelines: [...pipelines.values()], projects: [...projects.values()] }
}

/** Reads the pipelines and projects of a stored rule. A deleted one has its id as name, and belongs to no project. */
export async function readTargets(query: Query, row: NotificationRow): Promise<Targets> {
  const rule = StoredRule.parse(JSON.parse(row.rule))
  const found = await listTargets(query, rule)
  const fill = (ids: readonly string[], known: readonly Target[]): Target[] =>
    ids.map((id) => known.find((one) => one.id === id) ?? { id, name: id, project_id: null, pipeline_id: null })
  return { pipelines: fill(rule.pipelines, found.pipelines), projects: fill(rule.projects, found.projects) }
}

/** Throws unless the caller may have a notification with these targets; one without targets is about all projects. */
export function requireTargets(actor: Actor, targets: Targets, personal: boolean): void {
  const right = personal ? 'see-builds' : 'change-notifications'
  for (const target of all(targets)) requireRight(actor, right, placeOf(target))
  if (!personal && all(targets).length === 0) requireRight(actor, right, NO_PLACE)
}

/** Returns true if the caller may see a notification: a personal one of the caller, or one whose targets are all visible. */
export function isVisible(actor: Actor, { owner_id: owner }: NotificationRow, targets: Targets): boolean {
  const places = placesOf(actor, 'see-builds')
  if (owner !== '' || places === undefined) return true
  return all(targets).length > 0 && all(targets).every((target) => isWithin(places, placeOf(target)))
}
