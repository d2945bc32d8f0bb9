/**
 * Queues of pieces by lane. Pieces of one lane are processed one after the other, those of different lanes concurrently up to a limit. A lane is ready
 * when it has a piece and none of its pieces is in progress; ready lanes wait in the order of their oldest piece.
 */
export interface Lanes<T> {
  /** Queues a piece. Resolves when there is room for another one. */
  add(lane: string, piece: T): Promise<void>
  /** Numbers of queued pieces and of pieces in progress. */
  readonly waiting: number
  readonly running: number
  /** Resolves when no piece is queued or in progress. */
  idle(): Promise<void>
}

/**
 * Waits for something. Meanwhile the piece counts as queued, so that pieces of other lanes can be processed. When the wait is over the piece continues
 * at once, so more than `concurrency` pieces can be in progress.
 */
export type Aside = <R>(wait: () => Promise<R>) => Promise<R>

export interface LanesOptions<T> {
  readonly concurrency: number
  /** Number of queued pieces and of pieces aside from which `add` makes its caller wait. */
  readonly buffer: number
  /** Must not throw. */
  readonly work: (piece: T, aside: Aside) => Promise<void>
}

export function openLanes<T>({ concurrency, buffer, work }: LanesOptions<T>): Lanes<T> {
  const queues = new Map<string, T[]>()
  const busy = new Set<string>()
  const ready: string[] = []
  let waiting = 0
  /** Number of pieces in progress that do not count. */
  let aside = 0
  let room: PromiseWithResolvers<void> | undefined
  let idle = Promise.withResolvers<void>()
  idle.resolve()

  function start(): void {
    while (busy.size - aside < concurrency) {
      const lane = ready.shift()
      if (lane === undefined) return
      const piece = queues.get(lane)?.shift()
      if (piece === undefined) continue
      waiting -= 1
      busy.add(lane)
      void carryOut(lane, piece)
    }
  }

  async function stepAside<R>(wait: () => Promise<R>): Promise<R> {
    aside += 1
    start()
    try {
      return await wait()
    } finally {
      aside -= 1
    }
  }

  async function carryOut(lane: string, piece: T): Promise<void> {
    try {
      await work(piece, stepAside)
    } finally {
      busy.delete(lane)
      if ((queues.get(lane)?.length ?? 0) > 0) ready.push(lane)
      else queues.delete(lane)
      start()
      if (waiting + aside < buffer) {
        room?.resolve()
        room = undefined
      }
      if (busy.size === 0 && waiting === 0) idle.resolve()
    }
  }

  return {
    async add(lane, piece) {
      if (busy.size === 0 && waiting === 0) idle = Promise.withResolvers<void>()
      const queue = queues.get(lane) ?? []
      queues.set(lane, queue)
      queue.push(piece)
      waiting += 1
      if (!busy.has(lane) && queue.length === 1) ready.push(lane)
      start()
      while (waiting + aside >= buffer) {
        room ??= Promise.withResolvers<void>()
        await room.promise
      }
    },
    get waiting() {
      return waiting
    },
    get running() {
      return busy.size
    },
    idle: () => idle.promise,
  }
}

export interface LaneGroups<T> extends Omit<Lanes<T>, 'add'> {
  /** Queues a piece of a group. Resolves when there is room for another one of that group. */
  add(group: string, lane: string, piece: T): Promise<void>
  /** Returns the number of queued pieces of one group. */
  waitingIn(group: string): number
}

/** Opens separate lanes for each group, so that a group whose work does not end does not block the others. */
export function openLaneGroups<T>(optionsOf: (group: string) => LanesOptions<T>): LaneGroups<T> {
  const groups = new Map<string, Lanes<T>>()
  const sum = (of: (lanes: Lanes<T>) => number): number => [...groups.values()].reduce((total, lanes) => total + of(lanes), 0)
  return {
    async add(group, lane, piece) {
      const lanes = groups.get(group) ?? openLanes(optionsOf(group))
      groups.set(group, lanes)
      await lanes.add(lane, piece)
    },
    waitingIn: (group) => groups.get(group)?.waiting ?? 0,
    get waiting() {
      return sum((lanes) => lanes.waiting)
    },
    get running() {
      return sum((lanes) => lanes.running)
    },
    async idle() {
      await Promise.all([...groups.values()].map((lanes) => lanes.idle()))
    },
  }
}
