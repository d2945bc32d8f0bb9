/** What the user sees of a whole build: on a terminal of 80 columns, in a log of a CI system, and with `-o json`. */
import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { widthOf } from '../format/columns.ts'
import { styleFor } from '../format/style.ts'
import type { Terminal } from '../printer.ts'
import { LogView, type ViewItem } from './log-view.ts'
import type { BuildRecord, StepRecord } from './record.ts'
import { summarize } from './summary.ts'

const ID = '65f0c1d2a3b4c5d6e7f80912'
const GOLDEN = 'follower.golden'
const PLAIN = styleFor(false)

interface Scenario {
  readonly name: string
  readonly items: readonly ViewItem[]
  readonly record: BuildRecord
}

function terminalOf(columns: number | undefined): { terminal: Terminal; text: () => string } {
  let text = ''
  const write = (bytes: string | Uint8Array): void => void (text += Buffer.from(bytes).toString())
  const drained = (): Promise<void> => Promise.resolve()
  return { terminal: { isTTY: columns !== undefined, columns: columns ?? 80, style: PLAIN, write, drained }, text: () => text }
}

/** Shows the log and the summary of a build, as `windlass run` does. */
function show({ items, record }: Scenario, columns: number | undefined): string {
  const { terminal, text } = terminalOf(columns)
  const view = new LogView({ terminal, clock: manualClock(), buildId: ID })
  view.note(`Build ${ID}  demo/app`)
  for (const item of items) view.show(item)
  view[Symbol.dispose]()
  const lastLines = (step: string): readonly string[] => view.lastLines(step)
  return `${text()}${summarize(record, { terminal, lastLines, shownLast: view.openStep }).join('\n')}\n`
}

let at = 0
const event = (type: string, data: object = {}, attempt = 1): ViewItem => ({
  kind: 'event',
  attempt,
  at: (at += 1_000),
  type,
  data: { ...data },
})
const started = (step: string, attempt = 1): ViewItem => event('step.started', { step }, attempt)
const finished = (step: string, data: object = { status: 'success' }, attempt = 1): ViewItem =>
  event('step.finished', { step, ...data }, attempt)
const says = (step: string, text: string, attempt = 1): ViewItem => ({
  kind: 'log',
  attempt,
  at,
  stream: `step/${step}`,
  bytes: Buffer.from(text),
})

const EXIT_3 = { status: 'error', reason: 'exit-code', exitCode: 3, message: 'Exit code 3.' }
const LOST = { reason: 'dind-lost', message: 'The Docker daemon ended: exit code 137.' }

function step(name: string, more: Partial<StepRecord> = {}): StepRecord {
  const none = { parent: null, reason: null, message: null, hint: null, exitCode: null, usage: null }
  return { name, title: name, type: 'freestyle', status: 'success', ...none, startedAt: 0, finishedAt: 1_000, ...more }
}

function record(steps: readonly StepRecord[], more: Partial<BuildRecord> = {}): BuildRecord {
  return {
    id: ID,
    number: 7,
    pipeline: 'demo/app',
    status: 'success',
    reason: null,
    message: null,
    hint: null,
    branch: 'main',
    revision: null,
    runtime: 'local',
    attempt: 1,
    createdAt: 0,
    startedAt: 0,
    finishedAt: 12_000,
    blame: null,
    steps,
    ...more,
  }
}

const NO_DISK = '0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims found.'
const LONG = 'integration_tests_of_the_payment_service_with_the_old_database_and_the_new_client_library'

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'small',
    items: [
      event('attempt.started'),
      started('greet'),
      says('greet', 'hello\n'),
      finished('greet'),
      finished('deploy', { status: 'skipped', reason: 'condition-false' }),
    ],
    record: record([
      step('greet'),
      step('deploy', { status: 'skipped', reason: 'condition-false', startedAt: null, finishedAt: null }),
    ]),
  },
  {
    name: 'failing',
    items: [
      event('attempt.started'),
      started('compile'),
      says('compile', 'compiling 12 files\n'),
      finished('compile'),
      started(LONG),
      says(LONG, 'expected 2 but got 3\n[SYSTEM] Exit code 3.\n'),
      finished(LONG, EXIT_3),
      finished('deploy', { status: 'skipped', reason: 'not-reached' }),
    ],
    record: record(
      [
        step('compile'),
        step(LONG, { status: 'error', reason: 'exit-code', message: 'Exit code 3.', exitCode: 3 }),
        step('deploy', { status: 'skipped', reason: 'not-reached', startedAt: null, finishedAt: null }),
      ],
      { status: 'error', reason: 'step-failed', blame: LONG },
    ),
  },
  {
    name: 'parallel',
    items: [
      event('attempt.started'),
      started('unit'),
      started('lint'),
      says('unit', 'unit 1\n'),
      says('lint', 'lint 1\nbad file\n[SYSTEM] Exit code 3.\n'),
      says('unit', 'unit'),
      finished('lint', EXIT_3),
      says('unit', ' 2\n'),
      finished('unit'),
    ],
    record: record([step('unit'), step('lint', { status: 'error', reason: 'exit-code', message: 'Exit code 3.', exitCode: 3 })], {
      status: 'error',
      reason: 'step-failed',
      blame: 'lint',
    }),
  },
  {
    name: 'waiting',
    items: [
      event('build.waiting', { reason: 'pipeline-limit', message: 'The pipeline reached its limit of concurrent builds.' }),
      event('attempt.waiting', { reason: 'unschedulable', message: NO_DISK }),
      event('build.waiting', { reason: 'unschedulable', message: NO_DISK }),
      event('attempt.started'),
      started('release'),
      event('step.waiting', { step: 'release', reason: 'approval' }),
      event('step.decided', { step: 'release', decision: 'approved', by: { name: 'ada' } }),
      started('publish'),
      says('publish', 'published\n'),
      finished('publish'),
    ],
    record: record([step('release', { type: 'pending-approval' }), step('publish')]),
  },
  {
    name: 'lost',
    items: [
      event('attempt.started'),
      started('test'),
      says('test', 'one\ntwo without an end'),
      event('attempt.lost', LOST),
      event('build.waiting', { reason: 'retry-pending' }),
      event('attempt.started', {}, 2),
      started('test', 2),
      says('test', 'one\ntwo\n', 2),
      finished('test', { status: 'success' }, 2),
    ],
    record: record([step('test')], { attempt: 2 }),
  },
]

test('shows whole builds in each form: order, wording and width', async () => {
  const text = SCENARIOS.map((scenario) => {
    const terminal = show(scenario, 80)
    const file = show(scenario, undefined)
    const json = JSON.stringify(scenario.record, null, 2)
    return [
      `===== ${scenario.name}: terminal of 80 columns`,
      terminal,
      `===== ${scenario.name}: no terminal (standard error of -o json)`,
      terminal === file ? 'the same\n' : file,
      `===== ${scenario.name}: standard output of -o json`,
      `${json}\n`,
    ].join('\n')
  })
  await expect(text.join('\n')).toMatchFileSnapshot(GOLDEN)
})

test('lines of ours fit a terminal of 80 columns, except those to copy or of Kubernetes', () => {
  for (const scenario of SCENARIOS)
    for (const line of show(scenario, 80).split('\n'))
      if (!/windlass approve|waiting: 0\/3|integration_tests/.test(line)) expect(line.length).toBeLessThanOrEqual(80)
})

test('the table of steps is cut to the terminal, also with colors, and whole in a file', () => {
  const scenario = SCENARIOS[1]
  const longName = scenario?.record.steps[1]?.name ?? ''
  const lines = (terminal: Terminal): string[] => summarize(scenario?.record ?? record([]), { terminal })
  const { terminal } = terminalOf(80)
  const [, head = '', , failed = ''] = lines({ ...terminal, style: styleFor(true) })
  expect(head).toContain('STEP')
  expect(failed).toMatch(/^integration_tests_of_\S+…  .*error.*exit-code$/)
  expect(widthOf(failed)).toBeLessThanOrEqual(80)
  expect(lines(terminalOf(undefined).terminal).join('\n')).toContain(`${longName}  ✖ error`)
})
