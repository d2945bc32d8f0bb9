/** The objects of an application as a tree: those of the source, below them what they have created. */
import type { ApplicationHealth, ApplicationResource, ApplicationSync, ResourceNode } from '@windlass/protocol'
import { fullNameOf, nameOf, type Named } from './objects.ts'

export interface TreeObject extends Named {
  /** Unique in its application. */
  readonly key: string
  readonly health?: ApplicationHealth | undefined
  readonly sync?: ApplicationSync | undefined
  readonly message: string
  readonly isHook: boolean
  readonly children: readonly TreeObject[]
}

/** What narrows a tree: a health, a state of the sync, or nothing. */
export type StateFilter = ApplicationHealth | Extract<ApplicationSync, 'out-of-sync'> | undefined

export interface TreeRow {
  readonly object: TreeObject
  readonly depth: number
  /** Name of the object above it. */
  readonly parent: string | undefined
  /** Undefined for an object without others below it. */
  readonly isOpen: boolean | undefined
}

const EXTRA = 'Not in the source anymore: a sync with pruning deletes it.'

/**
 * Returns the tree. `nodes` is what the cluster has now; without it, the objects of the source are all that is known. Objects that own each other are shown once, and so is one of several owners.
 */
export function toTree(resources: readonly ApplicationResource[], nodes: readonly ResourceNode[] = []): TreeObject[] {
  const known = new Map(resources.map((resource) => [fullNameOf(resource), resource]))
  const uids = new Set(nodes.flatMap(({ uid }) => uid ?? []))
  const below = new Map<string | undefined, ResourceNode[]>()
  for (const node of nodes) {
    const parent = node.parents.find((uid) => uids.has(uid) && uid !== node.uid)
    const siblings = below.get(parent)
    if (siblings === undefined) below.set(parent, [node])
    else siblings.push(node)
  }
  const seen = new Set<string>()
  const build = (node: ResourceNode): TreeObject[] => {
    const key = fullNameOf(node)
    if (seen.has(key)) return []
    seen.add(key)
    const children = node.uid === undefined ? [] : (below.get(node.uid) ?? [])
    return [toObject(node, known.get(key), children.flatMap(build))]
  }
  const roots = (below.get(undefined) ?? []).flatMap(build)
  // A ring of owners has no root.
  const rings = nodes.flatMap(build)
  const absent = resources
    .filter((resource) => !seen.has(fullNameOf(resource)))
    .map((resource) => toObject(undefined, resource, []))
  return [...roots, ...rings, ...absent].toSorted(byAttention)
}

function toObject(
  node: ResourceNode | undefined,
  resource: ApplicationResource | undefined,
  children: readonly TreeObject[],
): TreeObject {
  const named = node ?? resource ?? { kind: '', name: '' }
  const facts = node?.info.map(({ name, value }) => `${name}: ${value}`).join(', ')
  const message = node?.message ?? resource?.message ?? facts
  const { group, kind, namespace, name } = named
  return {
    key: fullNameOf(named),
    group,
    kind,
    namespace,
    name,
    health: node?.health ?? resource?.health,
    sync: resource?.sync,
    message: [message, resource?.isExtra === true ? EXTRA : undefined].filter(Boolean).join(' '),
    isHook: resource?.isHook === true,
    children: children.toSorted(byAttention),
  }
}

const URGENCY: Readonly<Record<string, number>> = { degraded: 0, missing: 1, unknown: 2, progressing: 3, suspended: 4 }
const CALM = 6

/** The urgency of the worst object of a part of the tree. */
function urgencyOf({ health, sync, children }: TreeObject): number {
  const own = Math.min(URGENCY[health ?? ''] ?? CALM, sync === 'out-of-sync' ? CALM - 1 : CALM)
  return children.reduce((worst, child) => Math.min(worst, urgencyOf(child)), own)
}

function byAttention(one: TreeObject, other: TreeObject): number {
  return urgencyOf(one) - urgencyOf(other) || (nameOf(one) < nameOf(other) ? -1 : 1)
}

/** Returns how many objects have each state. */
export function countStates(tree: readonly TreeObject[]): ReadonlyMap<StateFilter, number> {
  const counts = new Map<StateFilter, number>()
  const add = (state: StateFilter): void => void counts.set(state, (counts.get(state) ?? 0) + 1)
  const visit = ({ health, sync, children }: TreeObject): void => {
    add(undefined)
    if (health !== undefined) add(health)
    if (sync === 'out-of-sync') add(sync)
    for (const child of children) visit(child)
  }
  for (const object of tree) visit(object)
  return counts
}

/** Returns the object with a key, wherever it is in the tree. */
export function findObject(tree: readonly TreeObject[], key: string): TreeObject | undefined {
  for (const object of tree) {
    const found = object.key === key ? object : findObject(object.children, key)
    if (found !== undefined) return found
  }
  return undefined
}

export interface Shown {
  readonly filter: StateFilter
  /** Key -> whether the user has opened or closed it. */
  readonly opened: ReadonlyMap<string, boolean>
}

/** Number of objects up to which all are open at first. In larger trees only the parts that need attention are. */
const ALL_OPEN = 60

/** Returns the rows in their order. With a filter: the objects that have the state, and those above them. */
export function rowsOf(tree: readonly TreeObject[], { filter, opened }: Shown): TreeRow[] {
  const isSmall = (countStates(tree).get(undefined) ?? 0) <= ALL_OPEN
  const rows: TreeRow[] = []
  const add = (object: TreeObject, depth: number, parent: string | undefined): void => {
    const children = object.children.filter((child) => hasState(child, filter))
    const isOpen = opened.get(object.key) ?? (isSmall || filter !== undefined || urgencyOf(object) < CALM)
    rows.push({ object, depth, parent, isOpen: children.length === 0 ? undefined : isOpen })
    if (isOpen) for (const child of children) add(child, depth + 1, nameOf(object))
  }
  for (const object of tree) if (hasState(object, filter)) add(object, 0, undefined)
  return rows
}

/** True if an object or one below it has the state. */
function hasState({ health, sync, children }: TreeObject, filter: StateFilter): boolean {
  return filter === undefined || filter === health || filter === sync || children.some((child) => hasState(child, filter))
}
