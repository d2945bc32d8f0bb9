/** Runs jobs in parallel: each lane takes the first one that is ready, in the order of the list. */
export interface Job {
  readonly name: string
  /** Resolves when its parts are ready. */
  readonly ready: Promise<unknown>
  /** Jobs that must end before this one starts. Jobs that are not in the list count as ended. */
  readonly after?: readonly string[]
  /** Job that must begin before this one starts. A job that is not in the list counts as begun. */
  readonly beside?: string
  /** True if it mostly waits: it starts when it is ready, in addition to the lanes. False by default. */
  readonly mostlyWaits?: boolean
  run(): Promise<void>
}

export async function runLanes(jobs: readonly Job[], lanes: number): Promise<void> {
  const begun = new Map(jobs.map(({ name }) => [name, Promise.withResolvers<void>()]))
  const ended = new Map(jobs.map(({ name }) => [name, Promise.withResolvers<void>()]))
  const readyOf = async ({ ready, after = [], beside = '' }: Job): Promise<void> => {
    await Promise.all([ready, begun.get(beside)?.promise, ...after.map((name) => ended.get(name)?.promise)])
  }
  const waiting = new Map(jobs.filter(({ mostlyWaits }) => mostlyWaits !== true).map((job) => [job, readyOf(job)]))
  const run = async (job: Job): Promise<void> => {
    begun.get(job.name)?.resolve()
    await job.run()
    ended.get(job.name)?.resolve()
  }
  const lane = async (): Promise<void> => {
    while (waiting.size > 0) {
      const job = await Promise.race([...waiting].map(([each, ready]) => ready.then(() => each)))
      // Another lane may have taken it at the same moment.
      if (waiting.delete(job)) await run(job)
    }
  }
  const inAddition = jobs.filter(({ mostlyWaits }) => mostlyWaits === true).map((job) => readyOf(job).then(() => run(job)))
  await Promise.all([...Array.from({ length: lanes }, lane), ...inAddition])
}
