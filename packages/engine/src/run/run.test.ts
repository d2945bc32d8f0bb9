import { fault, silentLog, systemClock } from '@windlass/kit'
import { emptySnapshot, type Plan } from '@windlass/plan'
import { expect, test } from 'vitest'
import { fakeDocker } from '../../test/support/fake-docker.ts'
import type { AttemptInput, AttemptOptions } from '../attempt/input.ts'
import { runAttempt } from './run.ts'

const PLAN: Plan = {
  planVersion: 1,
  mode: 'serial',
  stages: [],
  failFast: true,
  strictFailFast: false,
  steps: [
    {
      name: 'one',
      title: 'one',
      after: [],
      failFast: true,
      strictFailFast: false,
      retry: { maxAttempts: 1, delayMs: 1, factor: 1 },
      action: { kind: 'freestyle', image: 'alpine', commands: ['true'], shell: 'sh', environment: [], volumes: [] },
      position: { line: 1, column: 1 },
    },
  ],
  variables: [],
}

interface Spool {
  /** Types of the events that fit. */
  readonly events: string[]
  readonly journal: AttemptOptions['journal']
}

/** Returns a journal that is full for the events and streams that `isRefused` names. The last event always fits. */
function fullJournal(isRefused: (name: string) => boolean): Spool {
  const events: string[] = []
  const accept = (event: { type: string }): object => {
    events.push(event.type)
    return { ...event, seq: events.length, at: 1 }
  }
  const refuse = (name: string): void => {
    if (isRefused(name)) throw fault('spool-full')
  }
  const journal = {
    append(event: { type: string }) {
      refuse(event.type)
      return accept(event)
    },
    appendLast: accept,
    stream(name: string) {
      refuse(`open ${name}`)
      return { name, bytes: 0, write: async () => refuse(name) }
    },
    totals: async () => ({}),
    flushed: async () => undefined,
    extent: () => ({ bytes: 0, written: 0, acked: 0 }),
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what an attempt uses
  return { events, journal: journal as unknown as AttemptOptions['journal'] }
}

const INPUT: AttemptInput = {
  buildId: '65a1b2c3d4e5f60718293a4b',
  attempt: 1,
  plan: PLAN,
  snapshot: emptySnapshot(PLAN),
  secrets: {},
  git: [],
  registries: [],
  limits: { stepLogBytes: 1e6, buildLogBytes: 1e6, heartbeatMs: 1_000, stopGraceMs: 1 },
  userAccess: false,
  resetVolume: false,
  noCache: false,
  volumeName: 'v',
}

function run(journal: AttemptOptions['journal']) {
  const { signal } = new AbortController()
  const commands = (async function* () {})()
  return runAttempt({ input: INPUT, docker: fakeDocker({}), journal, clock: systemClock, log: silentLog, signal, commands })
}

test('runs the steps of the plan', async () => {
  const { events, journal } = fullJournal(() => false)
  expect(await run(journal)).toMatchObject({ status: 'success' })
  expect(events).toEqual(['attempt.started', 'step.started', 'step.finished', 'attempt.finished'])
})

test.each([
  ['the log of the attempt', 'open system', ['attempt.started']],
  ['a line of the attempt', 'system', ['attempt.started']],
  ['the start of the attempt', 'attempt.started', []],
  ['the start of a step', 'step.started', ['attempt.started']],
  ['the log of a step', 'open step/one', ['attempt.started', 'step.started']],
  ['the output of a step', 'step/one', ['attempt.started', 'step.started']],
  ['the end of a step', 'step.finished', ['attempt.started', 'step.started']],
])(
  'ends the attempt as disk-full if the spool is too full for %s',
  async (_, refused, before) => {
    const { events, journal } = fullJournal((name) => name === refused)
    expect(await run(journal)).toMatchObject({ status: 'error', reason: 'disk-full' })
    expect(events).toEqual([...before, 'attempt.finished'])
  },
  10_000,
)
