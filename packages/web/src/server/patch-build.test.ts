import type { Build } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { patchBuild } from './patch-build.ts'

const LISTED: Build = {
  id: '65f0c1d2a3b4c5d6e7f80912',
  number: 7,
  status: 'error',
  reason: 'step-failed',
  initiator: 'mira',
  trigger: { kind: 'manual' },
  attempt: 1,
  retries: 0,
  createdAt: 1,
}

test('a newer list form keeps what only the complete form has, such as the step to blame', () => {
  const details: Partial<Build> = {
    steps: [{ name: 'test', title: 'test', type: 'freestyle', status: 'error', try: 1 }],
    attempts: [{ number: 1, status: 'ended', createdAt: 1 }],
    approvals: [],
    annotations: { coverage: 85 },
    problems: [{ severity: 'warning', code: 'unknown-field', message: 'unknown field' }],
    blame: 'test',
    why: 'exit code 1',
    waits: [{ reason: 'queued', ms: 5 }],
    git: { repoName: 'app' },
    commitStatus: { state: 'failure', message: 'sent' },
  }
  const full = { ...LISTED, ...details, status: 'running', waiting: { reason: 'queued', since: 1, place: 1 } } as const
  expect(patchBuild(full, LISTED)).toEqual({ ...LISTED, ...details })
})
