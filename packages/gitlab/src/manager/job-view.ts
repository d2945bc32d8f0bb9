/** What users see of the jobs of a manager. */

export interface JobView {
  readonly id: number
  readonly name: string
  readonly project: string
  readonly runner: string
  readonly pod: string
  readonly namespace: string
  readonly state: 'preparing' | 'waiting' | 'running' | 'ending'
  /** Why the job is in this state. */
  readonly why: string
  /** Epoch milliseconds. */
  readonly since: number
}

export interface JobViews {
  set(view: Omit<JobView, 'since'>): void
  remove(id: number): void
  list(): JobView[]
}

export function openJobViews(now: () => number): JobViews {
  const views = new Map<number, JobView>()
  return {
    set(view) {
      const before = views.get(view.id)
      views.set(view.id, { ...view, since: before?.state === view.state ? before.since : now() })
    },
    remove: (id) => void views.delete(id),
    list: () => [...views.values()],
  }
}
