/**
 * Work in order: the pieces of one key one after the other, those of different keys side by side, at most so many at once. Nothing polls
 * and nothing is put back: a key is ready when it has work and nobody is at it, and the ready keys wait in the order of their oldest piece.
 */
export interface Lanes<T> {
  /** Queues a piece; resolves when there is room for another one. */
  add(key: string, piece: T): Promise<void>
  /** Pieces that wait, and pieces in work. */
  readonly waiting: number
  readonly running: number
  /** Resolves when nothing waits and nothing is in work. */
  idle(): Promise<void>
}

export interface LanesOptions<T> {
  readonly concurrency: number
  /** How many pieces may wait before `add` makes its caller wait. */
  readonly buffer: number
  /** Must not throw. */
  readonly work: (piece: T) => Promise<void>
}

export function openLanes<T>({ concurrency, buffer, work }: LanesOptions<T>): Lanes<T> {
  const queues = new Map<string, T[]>()
  const busy = new Set<string>()
  const ready: string[] = []
  let waiting = 0
  let room: PromiseWithResolvers<void> | undefined
  let idle = Promise.withResolvers<void>()
  idle.resolve()

  function start(): void {
    while (busy.size < concurrency) {
      const key = ready.shift()
      if (key === undefined) return
      const piece = queues.get(key)?.shift()
      if (piece === undefined) continue
      waiting -= 1
      busy.add(key)
      void carryOut(key, piece)
    }
  }

  async function carryOut(key: string, piece: T): Promise<void> {
    try {
      await work(piece)
    } finally {
      busy.delete(key)
      if ((queues.get(key)?.length ?? 0) > 0) ready.push(key)
      else queues.delete(key)
      start()
      if (waiting < buffer) {
        room?.resolve()
        room = undefined
      }
      if (busy.size === 0 && waiting === 0) idle.resolve()
    }
  }

  return {
    async add(key, piece) {
      if (busy.size === 0 && waiting === 0) idle = Promise.withResolvers<void>()
      const queue = queues.get(key) ?? []
      queues.set(key, queue)
      queue.push(piece)
      waiting += 1
      if (!busy.has(key) && queue.length === 1) ready.push(key)
      start()
      while (waiting >= buffer) {
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
  /** Queues a piece of a group; resolves when there is room for another one of that group. */
  add(group: string, key: string, piece: T): Promise<void>
}

/** Lanes of their own for each group, so that a cluster that does not answer holds up no other. */
export function openLaneGroups<T>(options: LanesOptions<T>): LaneGroups<T> {
  const groups = new Map<string, Lanes<T>>()
  const sum = (of: (lanes: Lanes<T>) => number): number => [...groups.values()].reduce((total, lanes) => total + of(lanes), 0)
  return {
    async add(group, key, piece) {
      const lanes = groups.get(group) ?? openLanes(options)
      groups.set(group, lanes)
      await lanes.add(key, piece)
    },
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
