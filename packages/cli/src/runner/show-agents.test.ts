import type { GitlabManager } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { styleFor } from '../format/style.ts'
import { managerTable } from './show-agents.ts'

const MANAGER: GitlabManager = {
  id: 'r_0123456789ab',
  agent: 'prod_codefresh',
  status: 'online',
  jobs: 2,
  concurrent: 10,
  isAsking: true,
  host: 'runner-1',
  version: '1.2.3',
  runners: [],
  seenAt: 96_000,
  createdAt: 0,
}

test('the table of managers names their agents, and whether they ask for jobs (G107)', () => {
  const managers = [
    MANAGER,
    { ...MANAGER, id: 'r_b', isAsking: false },
    { ...MANAGER, id: 'r_c', status: 'offline' as const, seenAt: 0 },
  ]
  const lines = managerTable(managers, { now: 100_000, style: styleFor(false) })
  expect(lines[0]).toMatch(/^GITLAB MANAGER +AGENT +STATUS +JOBS +REPORTED$/)
  expect(lines[1]).toMatch(/^r_0123456789ab +prod_codefresh +online +2 of 10 +4s ago$/)
  expect(lines[2]).toMatch(/^r_b +prod_codefresh +draining /)
  expect(lines[3]).toMatch(/^r_c +prod_codefresh +silent /)
})
