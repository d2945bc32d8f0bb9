/** `CI_DEBUG_SERVICES`: sends the output of services from the cluster to the helper, which adds it to the log of the job. */
import { pipeline } from 'node:stream/promises'
import { backoffMs, isAbort, type Clock, type Logger } from '@windlass/kit'
import type { Kube, ObjectRef } from '@windlass/kube'
import { EXCHANGE_FOLDER } from '../../pod/containers.ts'

export interface ServiceLogsOptions {
  readonly kube: Pick<Kube, 'exec' | 'followLogs'>
  readonly pod: ObjectRef
  /** Containers of the services, in the order of the services. */
  readonly services: readonly string[]
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the job has ended. */
  readonly signal: AbortSignal
}

/** Wait before a log is read again from its start. The helper leaves out what it has. Milliseconds. */
const BACKOFF = { baseMs: 500, maxMs: 10_000 }

/** Forwards the output until all services have ended, or the job. The log of the job must exist. Never rejects: without it the job runs as well. */
export async function forwardServiceLogs({ services, ...rest }: ServiceLogsOptions): Promise<void> {
  await Promise.all(services.map((container, service) => forward(rest, container, service)))
}

async function forward(
  { kube, pod, clock, log, signal }: Omit<ServiceLogsOptions, 'services'>,
  container: string,
  service: number,
): Promise<void> {
  const place = ['--exchange', EXCHANGE_FOLDER, '--service', String(service), '--name', container]
  const command = ['gitlab-runner-helper', 'append-service-log', ...place]
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      const output = await kube.followLogs(pod, { container, signal })
      const { stdin, stdout, stderr, exit } = await kube.exec(pod, { container: 'helper', command, stdin: true, signal })
      exit.catch(() => undefined)
      stdout.resume()
      stderr.resume()
      await pipeline(output, stdin)
      if ((await exit) === 0) return
    } catch (error) {
      if (signal.aborted || isAbort(error)) return
      log.debug({ err: error, pod: pod.name, container }, 'cannot read the output of a service; trying again')
    }
    await clock.sleep(backoffMs(BACKOFF, failures), signal).catch(() => undefined)
  }
}
