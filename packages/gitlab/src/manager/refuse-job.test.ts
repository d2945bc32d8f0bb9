/** Jobs that end before they have a pod, at a coordinator that keeps to the rules of GitLab. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fault, systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { openPair, type LogLine } from '../../../../e2e/gitlab/support/coordinator-pair.ts'
import type { FakeCoordinator, FakeJob } from '../../../../e2e/gitlab/support/fake-coordinator.ts'
import { Job } from '../job/payload.ts'
import { ConfigurationError } from '../pod/configuration-error.ts'
import type { JobOutcome } from './views/job-view.ts'
import { refuseJob } from './refuse-job.ts'

interface Refused {
  readonly fake: FakeCoordinator
  readonly job: FakeJob
  readonly outcome: JobOutcome
  readonly lines: readonly LogLine[]
}

/** Refuses a job for an error. `prepare` is called before. */
async function refused(
  error: unknown,
  { spoolFolder, prepare }: { readonly spoolFolder?: string; readonly prepare?: (fake: FakeCoordinator) => void } = {},
): Promise<Refused> {
  const { fake, client, log } = await openPair({ clock: systemClock })
  const features = { failure_reasons: ['runner_interrupted', 'runner_configuration_error', 'runner_external_dependency_failure'] }
  const variables = [{ key: 'SECRET', value: 'sesame-open-12345', masked: true }]
  const job = fake.enqueue({ id: 7, token: 'glcbt-seven', variables, features })
  const folder = mkdtempSync(join(tmpdir(), 'windlass-refuse-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  prepare?.(fake)
  const outcome = await refuseJob({
    entry: { coordinator: client, runner: { name: 'shop', token: 'glrt-AbCdEfGhIjKlMnOp' } },
    job: Job.parse(job.payload),
    error,
    systemId: 'r_0123456789ab',
    version: '1.2.3',
    revision: 'abcd',
    spoolFolder: spoolFolder ?? folder,
    clock: systemClock,
    log,
    signal: new AbortController().signal,
  })
  return { fake, job, outcome, lines: log.lines }
}

const finals = ({ updates }: FakeJob): number => updates.filter(({ state }) => state !== 'running').length

test.each([
  {
    what: 'its manager stops while it is prepared',
    error: new DOMException('the manager stops', 'AbortError'),
    reason: 'runner_interrupted',
    says: 'Job failed: aborted: terminated',
  },
  {
    what: 'the stores of its secrets take too long',
    error: new DOMException('the time is over', 'TimeoutError'),
    reason: 'runner_external_dependency_failure',
    says: 'Job failed: the stores of its secrets and caches took too long to answer',
  },
  {
    what: 'a store does not answer',
    error: fault('storage-unreachable', { message: 'Vault login: no answer' }),
    reason: 'runner_external_dependency_failure',
    says: 'Job failed: Vault login: no answer',
  },
  {
    what: 'it asks for what it does not get',
    error: new ConfigurationError('The image r/sesame-open-12345:1 is not allowed.'),
    reason: 'runner_configuration_error',
    says: 'Job failed: The image r/[MASKED]:1 is not allowed.',
  },
])('a job ends once, with its reason in the trace, if $what', async ({ error, reason, says }) => {
  const { job, outcome, lines } = await refused(error)
  expect(job.final).toMatchObject({ state: 'failed', failureReason: reason })
  expect([finals(job), job.violations]).toEqual([1, []])
  expect(job.trace.toString()).toContain('on shop AbCdEfGhI, system ID: r_0123456789ab')
  expect(job.trace.toString()).toContain(`ERROR: ${says}`)
  expect(outcome).toMatchObject({ state: 'failed', reason })
  expect(job.trace.toString() + JSON.stringify(lines)).not.toContain('sesame-open')
})

test('a job whose end GitLab takes and whose answer is lost ends once', async () => {
  const { job, outcome } = await refused(new ConfigurationError('No image.'), {
    prepare: (fake) => fake.next('update', 'break-after'),
  })
  expect(job.final).toMatchObject({ state: 'failed', failureReason: 'runner_configuration_error' })
  // The second try is refused, because the first one arrived.
  expect([finals(job), job.violations, outcome.state]).toEqual([2, [], 'failed'])
})

test('without a folder for its trace a job still ends', async () => {
  const { job, fake } = await refused(new ConfigurationError('No image.'), { spoolFolder: '/nowhere' })
  expect([finals(job), fake.of('trace').length]).toEqual([1, 0])
})
