/** Decides which starts may begin. Pure. */

/** A start that waits for its turn. */
export interface WaitingStart {
  /** Starts of one group compete for the same nodes. */
  readonly nodeGroup: string
  /** A warm pair, which no build waits for. */
  readonly isWarm: boolean
  /** Ids of tasks increase with time, so the order is the same after a restart of the agent. */
  readonly taskId: string
  /** Maximum number of starts in progress on the nodes. */
  readonly limit: number
}

/** Returns the starts in their order: builds before warm pairs, each by the age of their tasks. */
export function orderStarts<S extends WaitingStart>(waiting: readonly S[]): S[] {
  return waiting.toSorted((a, b) => Number(a.isWarm) - Number(b.isWarm) || compare(a.taskId, b.taskId))
}

/**
 * Returns the starts that may begin now, in their order. A start that has to wait holds back the later ones of its node group, also those with a higher
 * limit, so that none is overtaken forever.
 */
export function chooseStarts<S extends WaitingStart>(waiting: readonly S[], inProgress: ReadonlyMap<string, number>): S[] {
  const used = new Map(inProgress)
  const closed = new Set<string>()
  return orderStarts(waiting).filter(({ nodeGroup, limit }) => {
    const count = used.get(nodeGroup) ?? 0
    if (count >= limit) closed.add(nodeGroup)
    if (closed.has(nodeGroup)) return false
    used.set(nodeGroup, count + 1)
    return true
  })
}

/** How many starts may be in progress at once. */
export interface StartRate {
  readonly perCore: number
  readonly max?: number | undefined
}

/** Number of cores that is assumed if the agent may not read nodes. */
const ASSUMED_CORES = 4

/** Returns the maximum number of starts in progress: at least 1, so that a cluster without nodes gets the pod for which it adds one. */
export function startLimitOf({ perCore, max = Infinity }: StartRate, cores: number = ASSUMED_CORES): number {
  return Math.max(1, Math.min(max, Math.floor(perCore * cores)))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
