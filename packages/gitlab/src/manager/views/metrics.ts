/** What a manager tells monitoring, with the names of the original, and its jobs for people who debug it. */
import { exposition, probe, serveProbes, type ProbeAnswer, type ProbeServer } from '@windlass/kit'
import type { RunnerNames } from '../entry.ts'
import type { Manager, ManagerState } from '../manager.ts'

/** Port of the metrics where none is given, as that of the original. */
export const METRICS_PORT = 9252

/** Serves `/metrics`, `/health/live`, `/health/ready` and `/debug/jobs/list` on a port. Rejects if it is in use. */
export function serveManager(
  manager: Pick<Manager, 'state'>,
  { port, version }: { readonly port: number; readonly version: string },
): Promise<ProbeServer> {
  return serveProbes(port, (path) => answer(path, manager.state(), version))
}

function answer(path: string, state: ManagerState, version: string): ProbeAnswer | undefined {
  switch (path.split('?')[0]) {
    case '/metrics':
      return { status: 200, body: metricsText(state, version) }
    case '/health/live':
      return probe(state.isLive, 'a loop of the manager is stuck')
    case '/health/ready':
      return probe(state.isReady, 'the manager does not ask for jobs')
    case '/debug/jobs/list':
      return { status: 200, body: jobsText(state) }
    default:
      return undefined
  }
}

function metricsText({ concurrent, jobs, entries, terminals }: ManagerState, version: string): string {
  const states = new Map<string, number>()
  for (const { state } of jobs) states.set(state, (states.get(state) ?? 0) + 1)
  return exposition([
    {
      name: 'gitlab_runner_version_info',
      help: 'The version of this manager.',
      samples: [{ labels: { name: 'windlass', version }, value: 1 }],
    },
    { name: 'gitlab_runner_concurrent', help: 'Maximum number of jobs.', samples: [{ value: concurrent }] },
    {
      name: 'gitlab_runner_jobs',
      help: 'Jobs of the manager, by state.',
      samples:
        states.size === 0
          ? [{ labels: { state: 'running' }, value: 0 }]
          : [...states].map(([state, value]) => ({ labels: { state }, value })),
    },
    {
      name: 'gitlab_runner_request_concurrency',
      help: 'Requests for jobs in progress, by runner entry.',
      samples: entries.map((entry) => ({ labels: labelsOf(entry), value: entry.requests })),
    },
    {
      name: 'gitlab_runner_request_concurrency_used_limit',
      help: 'Requests that an entry may make at the same time.',
      samples: entries.map((entry) => ({ labels: labelsOf(entry), value: entry.requestLimit })),
    },
    {
      name: 'gitlab_runner_worker_health_check_failures',
      help: 'Whether an entry is paused after refusals: 1 if it is.',
      samples: entries.map((entry) => ({ labels: labelsOf(entry), value: Number(entry.isPaused) })),
    },
    ...(terminals === undefined
      ? []
      : [{ name: 'windlass_gitlab_terminals', help: 'Open terminals of jobs.', samples: [{ value: terminals }] }]),
  ])
}

/** The labels of the original. */
function labelsOf({ name, shortToken }: RunnerNames): Record<string, string> {
  return { runner: shortToken, runner_name: name }
}

function jobsText({ jobs }: ManagerState): string {
  return jobs
    .map(({ id, project, name, pod, namespace, state, why, since }) => {
      const at = new Date(since).toISOString()
      return `id=${id} project=${project} job=${name} state=${state} since=${at} pod=${namespace}/${pod} why=${JSON.stringify(why)}\n`
    })
    .join('')
}
