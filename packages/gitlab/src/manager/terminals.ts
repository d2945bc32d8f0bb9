/** Terminals of the jobs of a manager. Each request for a job has a session, which belongs to the job that GitLab sends. */
import type { Clock, Logger } from '@windlass/kit'
import type { RunnerConfig } from '../config/schema.ts'
import { sessionSettings } from '../config/session-server.ts'
import type { JobRequestResult, SessionOffer } from '../coordinator/job-request.ts'
import { openSessionServer } from '../session/session-server.ts'
import type { Session } from '../session/session.ts'

export interface Terminals {
  /** Whether the manager has a server of terminals. */
  readonly hasServer: boolean
  /** Requests a job for an entry, with a session for it. */
  request(key: string, call: (session: SessionOffer | undefined) => Promise<JobRequestResult>): Promise<JobRequestResult>
  /** Returns the session of a job that `request` has brought, once. The caller ends it with the job. */
  take(key: string, jobId: number): Session | undefined
  /** Number of open terminals; undefined without a server. */
  count(): number | undefined
  /** Lets jobs end although terminals are open, and opens no other ones. */
  release(): void
  /** Closes all terminals. */
  close(): Promise<void>
}

/** A manager without `[session_server]`. */
export const NO_TERMINALS: Terminals = {
  hasServer: false,
  request: (_, call) => call(undefined),
  take: () => undefined,
  count: () => undefined,
  release: () => undefined,
  close: async () => undefined,
}

/**
 * Starts the server of `[session_server]`. `config` returns the present configuration: another `session_timeout` counts for later jobs, and other addresses need a new process. Throws
 * `config-invalid` if the server cannot listen.
 */
export async function openTerminals(
  config: () => RunnerConfig,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<Terminals> {
  const settings = sessionSettings(config().session_server)
  // A configuration with a problem there is not loaded.
  if (settings === undefined || 'problem' in settings) return NO_TERMINALS
  const server = await openSessionServer({ settings, clock, log })
  /** Sessions of jobs that have not begun. */
  const received = new Map<string, Session>()
  const keyOf = (key: string, jobId: number): string => `${key} ${jobId}`
  const timeoutS = (): number => {
    const present = sessionSettings(config().session_server)
    return present === undefined || 'problem' in present ? settings.timeoutS : present.timeoutS
  }
  return {
    hasServer: true,
    async request(key, call) {
      const session = server.open(timeoutS())
      let job: JobRequestResult['job']
      try {
        const result = await call(session.offer)
        job = result.job
        return result
      } finally {
        if (job === undefined) session.close()
        else {
          received.get(keyOf(key, job.id))?.close()
          received.set(keyOf(key, job.id), session)
        }
      }
    },
    take(key, jobId) {
      const session = received.get(keyOf(key, jobId))
      received.delete(keyOf(key, jobId))
      return session
    },
    count: () => server.terminals(),
    release: () => void server.release(),
    close: () => server.close(),
  }
}
