/** What users see of the jobs of a manager, in its metrics and in a Windlass server. */
import type { LIVE_GITLAB_STATES } from '@windlass/protocol'

/** Identifies a job: GitLab numbers its jobs, and a manager can serve several. */
export interface JobKey {
  readonly id: number
  /** Base URL of GitLab; empty if it is not valid. */
  readonly gitlab: string
}

export interface JobFacts extends JobKey {
  readonly name: string
  /** Full path of the project. */
  readonly project: string
  readonly stage: string
  readonly ref: string
  /** Page of the job at GitLab. */
  readonly url: string | undefined
}

export interface JobView extends JobFacts {
  readonly runner: string
  readonly pod: string
  readonly namespace: string
  readonly state: (typeof LIVE_GITLAB_STATES)[number]
  /** Why the job is in this state. */
  readonly why: string
  /** Epoch milliseconds. */
  readonly since: number
  readonly receivedAt: number
  readonly startedAt: number | undefined
}

/** How a job ended. `canceled`: GitLab ended it. */
export interface JobOutcome {
  readonly state: 'success' | 'failed' | 'canceled'
  /** In the words of GitLab. */
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

export interface EndedJob extends JobView {
  readonly outcome: JobOutcome
  readonly endedAt: number
}

/** Called after each change, with the job if it has ended. */
export type JobListener = (ended: EndedJob | undefined) => void

/** A job in a state. `receivedAt`: for a job that another manager received. */
export type NewView = Omit<JobView, 'since' | 'receivedAt' | 'startedAt'> & { readonly receivedAt?: number | undefined }

export interface JobViews {
  set(view: NewView): void
  /** Removes a job. Without an outcome it has not ended: another manager follows it, or will. */
  remove(job: JobKey, outcome?: JobOutcome): void
  list(): JobView[]
  /** Returns a function that ends the calls. */
  follow(listener: JobListener): () => void
}

export function openJobViews(now: () => number): JobViews {
  const views = new Map<string, JobView>()
  const listeners = new Set<JobListener>()
  const keyOf = ({ gitlab, id }: JobKey): string => `${gitlab} ${id}`
  const tell: JobListener = (ended) => {
    for (const listener of listeners) listener(ended)
  }
  return {
    set(view) {
      const before = views.get(keyOf(view))
      views.set(keyOf(view), {
        ...view,
        since: before?.state === view.state ? before.since : now(),
        receivedAt: before?.receivedAt ?? view.receivedAt ?? now(),
        startedAt: before?.startedAt ?? (view.state === 'running' ? now() : undefined),
      })
      tell(undefined)
    },
    remove(job, outcome) {
      const view = views.get(keyOf(job))
      if (view === undefined) return
      views.delete(keyOf(job))
      tell(outcome === undefined ? undefined : { ...view, outcome, endedAt: now() })
    },
    list: () => [...views.values()],
    follow(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
