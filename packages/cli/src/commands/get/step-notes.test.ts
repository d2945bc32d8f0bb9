import type { BuildStep } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { stepNotes } from './step-notes.ts'

const step = (name: string, more: Partial<BuildStep>): BuildStep => ({
  name,
  title: name,
  type: 'freestyle',
  status: 'skipped',
  try: 0,
  ...more,
})

test('says which part of a condition did not hold, with its values and without secrets', () => {
  const steps = [
    step('deploy', {
      when: {
        holds: 'no',
        parts: [
          {
            part: 'branch',
            match: 'all',
            text: 'only main',
            values: [{ name: 'CF_BRANCH', value: 'next', isSecret: false }],
            holds: 'no',
          },
          { part: 'steps', match: 'all', label: 'test', text: 'success', values: [], holds: 'yes' },
        ],
      },
    }),
    step('notify', {
      when: {
        holds: 'no',
        parts: [{ part: 'condition', match: 'all', label: 'key', text: "KEY == 'x'", values: [{ name: 'KEY', isSecret: true }] }],
      },
    }),
    step('ran', { status: 'success', when: { holds: 'yes', parts: [] } }),
  ]
  expect(stepNotes({ steps })).toEqual([
    'deploy did not run: the branch must be only main (CF_BRANCH=next)',
    `notify did not run: the condition "key" reads a secret: KEY == 'x' (KEY=*****)`,
  ])
})

test('shows the image, the log and the hint of the step to blame only', () => {
  const steps = [
    step('one', { image: { name: 'alpine:3' }, hint: 'not shown' }),
    step('two', {
      status: 'error',
      image: { name: 'node:22', digest: 'sha256:0123' },
      logs: [
        { attempt: 1, bytes: 10, lines: 1 },
        { attempt: 2, bytes: 2048, lines: 42 },
      ],
      hint: 'Install it.',
    }),
  ]
  expect(stepNotes({ steps, blame: 'two' })).toEqual([
    'Image of two: node:22 (sha256:0123)',
    'Log of two: 42 lines, 2 KiB',
    'Hint for two: Install it.',
  ])
})
