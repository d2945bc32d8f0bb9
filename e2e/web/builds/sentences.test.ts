/** The sentence of a build is the same on the page and on the command line. */
import { REASON_NAMES, REASONS } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { listSentenceOf, sentenceOf } from '../../../packages/web/src/build/sentence.ts'
import { toRecord } from '../../../packages/cli/src/follow/record.ts'
import { summarize } from '../../../packages/cli/src/follow/summary.ts'
import { styleFor } from '../../../packages/cli/src/format/style.ts'

type Case = readonly [string, Partial<Build>]
type Step = NonNullable<Build['steps']>[number]

const ENDED: Build = {
  id: '65f0c1d2a3b4c5d6e7f80912',
  number: 7,
  status: 'error',
  initiator: 'mira',
  trigger: { kind: 'manual' },
  attempt: 1,
  retries: 0,
  createdAt: 0,
  startedAt: 1_000,
  finishedAt: 185_000,
  steps: [],
}

const step = (name: string, more: Partial<Step> = {}): Step => ({
  name,
  title: name,
  type: 'freestyle',
  status: 'success',
  try: 1,
  ...more,
})
const failed = (more: Partial<Step>): Partial<Build> => ({
  reason: 'step-failed',
  blame: 'test',
  steps: [step('clone'), step('test', { status: 'error', ...more })],
})

/** Every reason with which a build or its step ends. */
const ENDS = REASON_NAMES.filter((reason) => REASONS[reason].blame !== 'waiting')
const CASES: readonly Case[] = [
  ['success', { status: 'success', steps: [step('test')] }],
  ['success after a loss', { status: 'success', retries: 1, attempt: 2, steps: [step('test')] }],
  ['success after losses', { status: 'success', retries: 3, attempt: 4, steps: [step('test')] }],
  ['an exit code', failed({ reason: 'exit-code', exitCode: 137 })],
  ['a message', failed({ reason: 'push-failed', message: 'The registry refused the login of my-registry.' })],
  ['a denial', failed({ reason: 'denied', type: 'pending-approval', message: 'Denied by ann: not today' })],
  ['no known step', { reason: 'step-failed', message: 'The success criteria of the build are not met.' }],
  [
    'an invalid document',
    { reason: 'pipeline-invalid' as Build['reason'], problems: [{ severity: 'error', code: 'unknown-field', message: 'x' }] },
  ],
  [
    'a document with warnings',
    {
      problems: [
        { severity: 'error', code: 'a', message: 'x' },
        { severity: 'warning', code: 'b', message: 'y' },
      ],
    },
  ],
  [
    'a failure of a document with only warnings',
    { ...failed({ exitCode: 2, reason: 'exit-code' }), problems: [{ severity: 'warning', code: 'b', message: 'y' }] },
  ],
  ['superseded', { status: 'terminated', reason: 'superseded', message: 'Superseded by build 8.' }],
  ['terminated before its start', { status: 'terminated', reason: 'cancelled', startedAt: undefined }],
  ...ENDS.map((reason): Case => [`the end ${reason}`, { status: 'terminated', reason }]),
  ...ENDS.map((reason): Case => [`a step with ${reason}`, failed({ reason })]),
]

/** Returns what the last line of the summary says about a build. */
function commandLine(build: Build): string {
  const terminal = { style: styleFor(false), columns: 400, isTTY: false } as Parameters<typeof summarize>[1]['terminal']
  const line = summarize(toRecord(build), { terminal }).find((one) => one.includes(`Build ${build.id} `)) ?? ''
  return line.slice(line.indexOf(build.id) + build.id.length + 1)
}

/** Returns a sentence of the page without its capital, its stop, and what it adds about losses. */
function bare(text: string, { retries }: Build): string {
  const own = retries === 0 ? text : text.replace(/ (?:One attempt was|\d+ attempts were) lost with the infrastructure\.$/, '')
  return own.charAt(0).toLowerCase() + own.slice(1).replace(/\.$/, '')
}

test('covers at least 40 ends of builds', () => {
  expect(CASES.length).toBeGreaterThanOrEqual(40)
})

test.each(CASES)('the page and the command line say the same of %s (W025)', (_, more) => {
  const build = Object.fromEntries(Object.entries({ ...ENDED, ...more }).filter(([, value]) => value !== undefined)) as Build
  const expected = commandLine(build).replace(/\.$/, '')
  expect(expected).not.toBe('')
  expect(bare(sentenceOf(build), build)).toBe(expected)
  expect(bare(listSentenceOf(build), { ...build, retries: 0 })).toBe(expected)
})
