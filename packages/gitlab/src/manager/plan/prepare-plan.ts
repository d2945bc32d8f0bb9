/** Makes the plan of a job that was received, with what other services have for it: its secrets, and the addresses of its caches. */
import { randomBytes } from 'node:crypto'
import type { Clock, Logger } from '@windlass/kit'
import type { ReceivedJob } from '../../feed/feed.ts'
import type { JobProgram } from '../../helper/program.ts'
import { ConfigurationError } from '../../pod/configuration-error.ts'
import { resolveSecrets, type ResolvedSecret } from '../../secrets/resolve-secrets.ts'
import { maskText } from '../../trace/mask-text.ts'
import type { Entry } from '../entry.ts'
import { cacheAddresses } from './cache-addresses.ts'
import { planJob, type JobPlan } from './job-plan.ts'
import type { Place } from './places.ts'

export interface PrepareOptions {
  readonly systemId: string
  readonly managerName: string
  readonly version: string
  readonly revision: string
  readonly helperImage: string
  /** Environment of the manager, for credentials of clouds. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

export interface PreparedJob extends Pick<ReceivedJob, 'job' | 'correlationId'> {
  readonly entry: Entry
  readonly place: Place
  /** Namespace of the manager. */
  readonly namespace: string
  /** See `JobPlanOptions`. */
  readonly terminalS: number | undefined
}

/**
 * Returns the plan and the program of a job. Throws `ConfigurationError` for what the job asks for and does not get, and `storage-unreachable` if a store of secrets
 * does not answer.
 */
export async function preparePlan(
  options: PrepareOptions,
  { entry, job, correlationId, place, namespace, terminalS }: PreparedJob,
): Promise<{ readonly plan: JobPlan; readonly program: JobProgram }> {
  const { systemId, managerName, version, revision, helperImage, env, clock, signal } = options
  const { runner, runnerKey, tls } = entry
  const secrets = await resolveSecrets({ job, runner, env, clock, signal })
  const given = {
    job,
    secrets,
    correlationId,
    runner,
    runnerKey,
    systemId,
    managerName,
    version,
    revision,
    helperImage,
    namespace,
    place,
    unique: randomBytes(4).toString('hex'),
    tls: tls?.files() ?? {},
    terminalS,
    now: clock.now(),
  }
  const plan = withoutSecrets(secrets, () => planJob(given))
  const { urls, problem } = await cacheAddresses(options, { runner, job, keys: plan.cacheKeys })
  return { plan, program: plan.program((key) => urls?.get(key), problem) }
}

/** Masks secrets in the reason why a job cannot run: the image that is not allowed can have one in its name. */
function withoutSecrets<T>(secrets: readonly ResolvedSecret[], work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    throw new ConfigurationError(maskText(error.message, { masked: secrets.map(({ value }) => value), tokenPrefixes: [] }))
  }
}
