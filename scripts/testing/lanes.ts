/** Runs jobs in parallel: each lane takes the first one that is ready, in the order of the list. */
export interface Job {
  readonly name: string
  /** Resolves when its parts are ready. */
  readonly ready: Promise<unknown>
  /** Jobs that must end before this one starts. Jobs that are not in the list count as ended. */
  readonly after?: readonly string[]
  /** Job that must begin before this one starts. A job that is not in the list counts as begun. */
  readonly beside?: string
  /** True if it mostly waits: it runs in a lane for such jobs. False by default. */
  readonly mostlyWaits?: boolean
  run(): Promise<void>
}

/** How many jobs run in parallel. */
export interface Lanes {
  /** For jobs that do not mostly wait. When those are all taken, also for the others, so that no lane is idle. */
  readonly busy: number
  /** For jobs that mostly wait only. */
  readonly waiting: number
}

export async function runLanes(jobs: readonly Job[], lanes: Lanes): Promise<void> {
  const begun = new Map(jobs.map(({ name }) => [name, Promise.withResolvers<void>()]))
  const ended = new Map(jobs.map(({ name }) => [name, Promise.withResolvers<void>()]))
  const readyOf = async ({ ready, after = [], beside = '' }: Job): Promise<void> => {
    await Promise.all([ready, begun.get(beside)?.promise, ...after.map((name) => ended.get(name)?.promise)])
  }
  const run = async (job: Job): Promise<void> => {
    begun.get(job.name)?.resolve()
    await job.run()
    ended.get(job.name)?.resolve()
  }
  const queueOf = (queued: readonly Job[]): Map<Job, Promise<void>> => new Map(queued.map((job) => [job, readyOf(job)]))
  const lane = async (queue: Map<Job, Promise<void>>): Promise<void> => {
    while (queue.size > 0) {
      const job = await Promise.race([...queue].map(([each, ready]) => ready.then(() => each)))
      // Another lane may have taken it at the same moment.
      if (queue.delete(job)) await run(job)
    }
  }
  const busy = queueOf(jobs.filter(({ mostlyWaits }) => mostlyWaits !== true))
  const waiting = queueOf(jobs.filter(({ mostlyWaits }) => mostlyWaits === true))
  await Promise.all([
    ...Array.from({ length: lanes.busy }, () => lane(busy).then(() => lane(waiting))),
    ...Array.from({ length: lanes.waiting }, () => lane(waiting)),
  ])
}
