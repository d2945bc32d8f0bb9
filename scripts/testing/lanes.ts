/** Runs jobs in parallel: each lane takes the first one that is ready, in the order of the list. */
export interface Job {
  readonly name: string
  /** Resolves when its parts are ready. */
  readonly ready: Promise<unknown>
  /** Jobs that must end before this one starts. Jobs that are not in the list count as ended. */
  readonly after?: readonly string[]
  run(): Promise<void>
}

export async function runLanes(jobs: readonly Job[], lanes: number): Promise<void> {
  const ended = new Map(jobs.map(({ name }) => [name, Promise.withResolvers<void>()]))
  const waiting = new Map(
    jobs.map((job) => [job, Promise.all([job.ready, ...(job.after ?? []).map((name) => ended.get(name)?.promise)])]),
  )
  const lane = async (): Promise<void> => {
    while (waiting.size > 0) {
      const job = await Promise.race([...waiting].map(([each, ready]) => ready.then(() => each)))
      // Another lane may have taken it at the same moment.
      if (!waiting.delete(job)) continue
      await job.run()
      ended.get(job.name)?.resolve()
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
