/**
 * Returns one shortest cycle for each group of files that import each other, so that cutting it is the next step. The graph maps a file to the files
 * that it imports; files that are not keys are ignored.
 */
export function findCycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  return components(graph).map((group) => shortestCycle(group, graph))
}

/** Groups of two or more files that reach each other, and files that import themselves (Tarjan's algorithm). */
function components(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  const groups: string[][] = []
  const visit = (file: string): void => {
    order.set(file, order.size)
    low.set(file, order.get(file) ?? 0)
    open.push(file)
    for (const next of graph.get(file) ?? []) {
      if (!graph.has(next)) continue
      if (!order.has(next)) visit(next)
      if (open.includes(next)) low.set(file, Math.min(low.get(file) ?? 0, low.get(next) ?? 0))
    }
    if (low.get(file) !== order.get(file)) return
    const group = open.splice(open.indexOf(file))
    if (group.length > 1 || graph.get(file)?.includes(file) === true) groups.push(group)
  }
  for (const file of graph.keys()) if (!order.has(file)) visit(file)
  return groups
}

/** A breadth-first search from each file of the group back to itself. */
function shortestCycle(group: readonly string[], graph: ReadonlyMap<string, readonly string[]>): string[] {
  const members = new Set(group)
  let shortest: string[] | undefined
  for (const start of group) {
    const paths: string[][] = [[start]]
    const seen = new Set([start])
    for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
      const next = graph.get(path.at(-1) ?? '') ?? []
      if (next.includes(start)) {
        if (shortest === undefined || path.length < shortest.length) shortest = path
        break
      }
      for (const file of next.filter((each) => members.has(each) && !seen.has(each))) {
        seen.add(file)
        paths.push([...path, file])
      }
    }
  }
  return shortest ?? [...group]
}
