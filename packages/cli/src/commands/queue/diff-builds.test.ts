import type { BuildComparison } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { describeComparison } from './diff-builds.ts'

const build = (number: number, status: 'success' | 'error'): BuildComparison['before'] => ({
  id: String(number).padStart(24, '0'),
  number,
  status,
  initiator: 'mira',
  trigger: { kind: 'manual' },
  attempt: 1,
  retries: 0,
  createdAt: 1,
})
const SAME: BuildComparison = {
  before: build(1, 'success'),
  after: build(2, 'error'),
  isSame: true,
  variables: [],
  images: [],
  steps: [],
}

test('prints the differences by fact, and only steps that took another time', () => {
  const text = describeComparison({
    ...SAME,
    isSame: false,
    document: { before: 'a\nb\nc', after: 'a\nx\nc' },
    variables: [
      { name: 'KEY', after: { level: 'build', isSecret: true } },
      {
        name: 'T',
        before: { level: 'pipeline', value: '1', isSecret: false },
        after: { level: 'build', value: '2', isSecret: false },
      },
    ],
    images: [{ step: 'one', before: { name: 'a:1', digest: 'sha256:1' }, after: { name: 'a:2' } }],
    runtime: { before: { name: 'local', version: 3 }, after: { name: 'other' } },
    steps: [
      { name: 'one', before: { status: 'success', ms: 10_000 }, after: { status: 'success', ms: 10_900 } },
      { name: 'two', before: { status: 'success', ms: 10_000 }, after: { status: 'success', ms: 70_000 } },
      { name: 'three', before: { status: 'success', ms: 1 } },
    ],
  }).join('\n')
  expect(text).toContain('Document:\n- b\n+ x\n')
  expect(text).toContain('Variables:\n+ KEY=***** (build)\n- T=1 (pipeline)\n+ T=2 (build)\n')
  expect(text).toContain('Images:\n- one: a:1 (sha256:1)\n+ one: a:2\n')
  expect(text).toContain('Runtime:\n- local, version 3\n+ other\n')
  expect(text).toMatch(/\ntwo +success, 10.0 s +success, 1 m 10 s\n/)
  expect(text).toMatch(/\nthree +success, 1 ms +absent$/)
  expect(text).not.toMatch(/^one /m)
})

test('says that nothing differs', () => {
  expect(describeComparison(SAME)).toContain('Commit, document, variables, images and runtime are the same.')
})
