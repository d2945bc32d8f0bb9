import { expect, test } from 'vitest'
import { toCronCommand, toEventCommand, toGitCommand } from './trigger-command.ts'

test('the command of a git trigger has its events and the filters that are set', () => {
  const filters = { context: '', branch: '/^main$/', 'target-branch': '', comment: '', files: '{a/**,b/**}' }
  expect(
    toGitCommand({
      pipeline: 'demo/app',
      name: 'main',
      repo: 'acme/app',
      events: ['push.heads', 'push.tags'],
      filters,
      takesForks: true,
    }),
  ).toBe(
    "windlass create trigger demo/app main --repo acme/app --event push.heads --event push.tags --branch '/^main$/' --files '{a/**,b/**}' --allow-forks",
  )
})

test('the command of a cron trigger quotes its expression', () => {
  const form = { pipeline: 'demo/app', name: 'nightly', expression: '0 3 * * *', timezone: 'Europe/Berlin', message: '' }
  expect(toCronCommand({ ...form, gitTrigger: 'main', branch: 'main' })).toBe(
    "windlass create cron-trigger demo/app nightly --expression '0 3 * * *' --timezone Europe/Berlin --git-trigger main --branch main",
  )
})

test.each([
  [{ type: 'registry', artifact: 'team/base', filter: '1.*' }, "--image team/base --tag '1.*'"],
  [{ type: 'registry', artifact: '', webhook: 'hub' }, '--image IMAGE --webhook hub'],
  [{ type: 'helm', artifact: 'charts/app', filter: '/^2/' }, "--chart charts/app --chart-version '/^2/'"],
  [{ type: 'build', source: 'demo/app' }, '--after demo/app'],
  [
    { type: 'build', source: 'demo/app', statuses: ['error', 'terminated'], branch: 'main' },
    '--after demo/app --status error --status terminated --branch main',
  ],
] as const)('the command of an event trigger has the options of its kind: %j', (facts, options) => {
  const empty = { name: 'after', artifact: '', filter: '', webhook: '', source: '', statuses: ['success'], branch: '' }
  expect(toEventCommand('demo/deploy', { ...empty, ...facts })).toBe(`windlass create event-trigger demo/deploy after ${options}`)
})
