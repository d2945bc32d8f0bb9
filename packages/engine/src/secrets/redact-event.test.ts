import { expect, test } from 'vitest'
import type { EngineEventBody } from '@windlass/protocol'
import { redactEvent } from './redact-event.ts'

const redact = (text: string): string => text.replaceAll('swordfish', '*****')

test.each<EngineEventBody>([
  {
    type: 'step.finished',
    step: 'a',
    try: 1,
    status: 'error',
    message: 'swordfish',
    hint: 'swordfish',
    image: { name: 'r.example/swordfish:1', digest: 'sha256:1' },
    members: {},
    exports: [],
  },
  {
    type: 'annotated',
    step: 'a',
    entity: 'build',
    kind: 'annotation',
    set: { url: 'https://x:swordfish@example.com', count: 1 },
    unset: [],
    display: 'swordfish',
  },
  { type: 'notice', level: 'info', message: 'swordfish' },
  { type: 'attempt.finished', outcome: { status: 'error', message: 'swordfish' }, streams: {} },
])('masks secrets in the human-readable texts of $type events', (event) => {
  const json = JSON.stringify(redactEvent(event, redact))
  expect(json).toContain('*****')
  expect(json).not.toContain('swordfish')
})

test('does not mask values for later steps', () => {
  const event: EngineEventBody = {
    type: 'step.finished',
    step: 'a',
    try: 1,
    status: 'success',
    members: { url: 'swordfish' },
    exports: [{ name: 'X', value: 'swordfish', secret: true }],
    outputs: { token: 'swordfish' },
    sealed: { members: ['url'], outputs: ['token'] },
  }
  expect(redactEvent(event, redact)).toEqual(event)
})
