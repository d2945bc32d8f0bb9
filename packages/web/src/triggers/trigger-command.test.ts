import { expect, test } from 'vitest'
import { toCronCommand, toGitCommand } from './trigger-command.ts'

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
