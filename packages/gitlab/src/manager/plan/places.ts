/** The numbers of the jobs that run at the same time: the lowest that is free. */

export interface Place {
  /** Number among the jobs of the runner, and among those of its project there. */
  readonly concurrentId: number
  readonly concurrentProjectId: number
}

export interface Places {
  /** Takes the lowest free numbers. */
  take(runner: string, projectId: number): Place
  /** Takes the numbers of a job that already runs. */
  occupy(runner: string, projectId: number, place: Place): void
  free(runner: string, projectId: number, place: Place): void
}

export function openPlaces(): Places {
  const taken = new Map<string, Set<number>>()
  const setOf = (key: string): Set<number> => {
    const set = taken.get(key) ?? new Set()
    taken.set(key, set)
    return set
  }
  const keys = (runner: string, projectId: number): readonly [string, string] => [runner, `${runner} ${projectId}`]
  const lowest = (set: ReadonlySet<number>): number => {
    let n = 0
    while (set.has(n)) n += 1
    return n
  }
  function occupy(runner: string, projectId: number, place: Place): void {
    const [own, project] = keys(runner, projectId)
    setOf(own).add(place.concurrentId)
    setOf(project).add(place.concurrentProjectId)
  }
  return {
    take(runner, projectId) {
      const [own, project] = keys(runner, projectId)
      const place = { concurrentId: lowest(setOf(own)), concurrentProjectId: lowest(setOf(project)) }
      occupy(runner, projectId, place)
      return place
    },
    occupy,
    free(runner, projectId, { concurrentId, concurrentProjectId }) {
      const [own, project] = keys(runner, projectId)
      setOf(own).delete(concurrentId)
      setOf(project).delete(concurrentProjectId)
      for (const key of [own, project]) if (setOf(key).size === 0) taken.delete(key)
    },
  }
}
