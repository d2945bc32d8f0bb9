import { expect, test } from 'vitest'
import { getCommands } from './command.ts'
import { requireFilters } from './kind-filters.ts'

test('accepts the filters of a kind', () => {
  requireFilters('pipelines', { project: ['shop'], query: 'app', pipeline: [], status: undefined })
  requireFilters('cron-triggers', { pipeline: ['shop/app'] })
  requireFilters('deliveries', { webhook: 'forge', repo: 'acme/app', status: 'processed' })
})

test('refuses filters of other kinds, and names the kinds that have them', () => {
  expect(() => requireFilters('contexts', { pipeline: ['x'] })).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: '--pipeline does not apply to contexts.',
      hint: '--pipeline applies to builds, deliveries, disks, triggers, cron-triggers, event-triggers.',
    }),
  )
  expect(() => requireFilters('runtimes', { project: ['shop'], repo: 'acme/app' })).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: '--project does not apply to runtimes. --repo does not apply to runtimes.',
      hint: '--project applies to builds, pipelines, gitlab-jobs, applications. --repo applies to deliveries.',
    }),
  )
})

test('knows each filter of the command', () => {
  const [get] = getCommands
  const others = ['output', 'noHeaders', 'limit', 'countBy', 'versions', 'history', 'version']
  for (const name of Object.keys(get?.options ?? {}).filter((option) => !others.includes(option)))
    expect(() => requireFilters('teams', { [name]: 'x' }), name).toThrow(`--${name} does not apply to teams.`)
})
