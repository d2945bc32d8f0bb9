import { expect, test } from 'vitest'
import { readBuildFilter } from '../url/build-filter.ts'
import { toListCommand } from './list-command.ts'

test('has an option for each filter, and quotes what a shell would split', () => {
  expect(toListCommand({})).toBe('windlass get builds')
  const filter = readBuildFilter(
    '?status=error&status=running&pipeline=demo/app&pipeline=a&branch=it%27s&project=p&by=mira&trigger=t&runtime=r&reason=step-failed&annotation=a%3Db&q=fix+tax&from=1000&to=2000',
  )
  expect(toListCommand(filter)).toBe(
    String.raw`windlass get builds --status error,running --project p --pipeline demo/app --pipeline a --branch 'it'\''s' --initiator mira --trigger t ` +
      `--runtime r --reason step-failed --annotation a=b --query 'fix tax' --since 1970-01-01T00:00:01.000Z --until 1970-01-01T00:00:02.000Z`,
  )
})

test('is absent for several reasons, because the command takes one', () => {
  expect(toListCommand({ reason: ['step-failed', 'denied'] })).toBeUndefined()
})
