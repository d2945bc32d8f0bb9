import { expect, test } from 'vitest'
import { FAILURE_REASONS, pullFailureReason, reportedReason } from './failure-reasons.ts'

test('maps reasons that the job does not list, and sends those that it lists (G027)', () => {
  const map = (supported: readonly string[]): object =>
    Object.fromEntries(FAILURE_REASONS.map((reason) => [reason, reportedReason(reason, supported)]))
  expect(map([])).toEqual({
    script_failure: 'script_failure',
    runner_system_failure: 'runner_system_failure',
    job_execution_timeout: 'job_execution_timeout',
    image_pull_failure: 'runner_system_failure',
    unknown_failure: 'unknown_failure',
    runner_configuration_error: 'script_failure',
    runner_external_dependency_failure: 'runner_system_failure',
    runner_interrupted: 'unknown_failure',
    job_canceled: 'unknown_failure',
  })
  expect(map(FAILURE_REASONS)).toEqual(Object.fromEntries(FAILURE_REASONS.map((reason) => [reason, reason])))
  expect(reportedReason(undefined, [])).toBe('script_failure')
})

test.each([
  [
    'Get "https://registry.example.com/v2/": dial tcp: lookup registry.example.com: no such host',
    'runner_external_dependency_failure',
  ],
  ['net/http: TLS handshake timeout', 'runner_external_dependency_failure'],
  ['dial tcp 10.0.0.1:443: i/o timeout while fetching manifest: not found', 'runner_external_dependency_failure'],
  ['manifest for alpine:no-such-tag not found: manifest unknown', 'runner_configuration_error'],
  ['Pull Access Denied for private/image', 'runner_configuration_error'],
  ['failed to authorize: 401 Unauthorized', 'runner_configuration_error'],
  ['toomanyrequests: You have reached your pull rate limit', 'image_pull_failure'],
  ['', 'image_pull_failure'],
])('classifies the pull error "%s" as %s', (message, reason) => {
  expect(pullFailureReason(message)).toBe(reason)
})
