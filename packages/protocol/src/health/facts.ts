/** What the health of the server and of runtimes depends on. */

/** The agent of a runtime. */
export interface AgentFacts {
  readonly name: string
  readonly exists: boolean
  readonly isOnline: boolean
  readonly lastSeenAt?: number | undefined
  /** Version of Windlass. Undefined for agents of other makers. */
  readonly version?: string | undefined
}

/** Why pods of a runtime do not start. */
export interface PodFacts {
  /** Name of a reason, such as `unschedulable`. */
  readonly reason: string
  /** In the words of the cluster or of the agent. */
  readonly message?: string | undefined
  readonly since: number
  /** Number of attempts. */
  readonly count: number
}

/** What the health of a runtime depends on. Times are epoch milliseconds. */
export interface RuntimeFacts {
  readonly now: number
  readonly serverVersion: string
  readonly running: number
  readonly waiting: number
  /** Maximum number of builds. Undefined for no limit. */
  readonly capacity?: number | undefined
  /** Since when builds wait because the runtime is full. */
  readonly fullSince?: number | undefined
  /** Forecast of the time until a build ends. Milliseconds. */
  readonly nextMs?: number | undefined
  /** Undefined if no agent serves the runtime. */
  readonly agent: AgentFacts | undefined
  /** Pods that wait now. */
  readonly pods: readonly PodFacts[]
  /** Objects that the agent or the cluster rejected, since the last attempt that started. */
  readonly rejections: readonly PodFacts[]
  /** Why the latest warm pair failed. */
  readonly pairProblem?: string | undefined
  readonly isPaused: boolean
  /** Why builds are paused, in the words of the admin. */
  readonly pauseReason?: string | undefined
  /** Checks of the agent or of `windlass doctor` that failed. */
  readonly failedChecks?: readonly CheckFacts[] | undefined
}

/** A check that failed. */
export interface CheckFacts {
  readonly check: string
  readonly message: string
  readonly hint?: string | undefined
  /** When the check ran. */
  readonly at: number
}

/** What the health of the server depends on, except its runtimes. */
export interface ServerFacts {
  /** Since when the log storage accepts no writes. */
  readonly logsFailSince?: number | undefined
  /** Free share of the disk, 0 to 1, and the share below which no builds are accepted. */
  readonly freeShare: number
  readonly minFreeShare: number
  readonly isPaused: boolean
  readonly pauseReason?: string | undefined
  readonly running: number
  readonly waiting: number
}
