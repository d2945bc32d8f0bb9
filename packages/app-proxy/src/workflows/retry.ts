/**
 * Which nodes of a workflow run again when it is retried: what the server of Argo Workflows does. A node that failed is removed with all that follows it, and the groups around it run again.
 * Nodes that succeeded stay, so their pods do not run twice.
 */
import type { Node } from './manifest.ts'

/** Types of nodes that execute something. The others group them, and have their result. */
const EXECUTED: ReadonlySet<string | null | undefined> = new Set(['Pod', 'Container', 'HTTP', 'Plugin'])

export interface RetryPlan {
  /** Ids of the nodes that the controller creates again. */
  readonly removed: ReadonlySet<string>
  /** Ids of the nodes that run again. */
  readonly reset: ReadonlySet<string>
}

/** Returns what a retry changes. Pure. */
export function planRetry(workflow: string, nodes: ReadonlyMap<string, Node>): RetryPlan {
  const parents = parentsOf(nodes)
  const removed = new Set<string>()
  const reset = new Set<string>()
  const parentOf = (node: Node, type: string): Node | undefined => parents.get(node.id)?.find((parent) => parent.type === type)
  const remove = (node: Node): void => {
    for (const { id } of reachable(node, nodes)) removed.add(id)
  }
  /** Whether something succeeded after it, as behind a step that may fail. Of tries, that of the last one counts. */
  const isSettled = (node: Node): boolean => {
    const first = node.nodeFlag?.retried === true ? (parentOf(node, 'Retry') ?? node) : node
    return [...reachable(first, nodes)].some((later) => later !== first && later.phase === 'Succeeded')
  }

  const root = nodes.get(workflow) ?? [...nodes.values()].find(({ name }) => name === workflow)
  for (const node of root === undefined ? [] : reachable(root, nodes)) {
    if (removed.has(node.id) || !isFailed(node) || !EXECUTED.has(node.type) || isSettled(node)) continue
    const first = node.type === 'Container' ? (parentOf(node, 'Pod') ?? node) : node
    remove(first)
    for (const group of groupsAround(first, { nodes, parents })) reset.add(group.id)
  }
  // The handler runs again at the next end.
  for (const node of nodes.values()) if (node.name.startsWith(`${workflow}.onExit`)) remove(node)
  return { removed, reset: new Set([...reset].filter((id) => !removed.has(id))) }
}

function isFailed({ phase }: Node): boolean {
  return phase === 'Failed' || phase === 'Error'
}

type Parents = ReadonlyMap<string, readonly Node[]>

function parentsOf(nodes: ReadonlyMap<string, Node>): Parents {
  const parents = new Map<string, Node[]>()
  for (const node of nodes.values()) for (const child of node.children) parents.set(child, [...(parents.get(child) ?? []), node])
  return parents
}

/** Yields a node and all that follow it, near ones first, each once. */
function* reachable(first: Node, nodes: ReadonlyMap<string, Node>): Generator<Node> {
  const seen = new Set([first])
  // The set grows while it is read.
  for (const node of seen) {
    yield node
    for (const id of node.children) {
      const child = nodes.get(id)
      if (child !== undefined) seen.add(child)
    }
  }
}

/** Yields what contains a node: its tries, its group of parallel nodes, its steps or graph, and what contains those. */
function* groupsAround(
  first: Node,
  { nodes, parents }: { readonly nodes: ReadonlyMap<string, Node>; readonly parents: Parents },
): Generator<Node> {
  const seen = new Set<Node>()
  for (let node: Node | undefined = first; node !== undefined && !seen.has(node);) {
    seen.add(node)
    const tries: Node | undefined = parents.get(node.id)?.find(({ type }) => type === 'Retry')
    if (tries !== undefined) yield tries
    const inner: Node = tries ?? node
    for (const parent of parents.get(inner.id) ?? []) if (parent.type === 'StepGroup' || parent.type === 'TaskGroup') yield parent
    const boundary: Node | undefined = nodes.get(inner.boundaryID ?? '')
    if (boundary !== undefined) yield boundary
    node = boundary
  }
}
