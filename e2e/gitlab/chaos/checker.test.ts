/** The checker of the chaos runs, with histories of a correct system and of broken ones. */
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { checkHistory, RULES } from './check.ts'
import type { Call, History, JobHistory, Update } from './history.ts'
import { syntheticHistory, type Kind } from './synthetic.ts'
import { readTrace } from './trace-text.ts'

const SEEDS = Array.from({ length: 20 }, (_, n) => n + 1)

test('the history of a correct system breaks no rule', () => {
  for (const seed of SEEDS) expect(checkHistory(syntheticHistory(seed)), `seed ${seed}`).toEqual([])
})

/** Changes the job of a kind. */
function inJob(kind: Kind, change: (job: JobHistory) => Partial<JobHistory>): (history: History) => History {
  return (history) => ({ ...history, jobs: history.jobs.map((job) => (job.kind === kind ? { ...job, ...change(job) } : job)) })
}

/** Changes the accepted final state. */
function inFinal(kind: Kind, change: (final: Update) => Partial<Update>): (history: History) => History {
  const isFinal = (call: Call): call is Update => call.type === 'update' && call.state !== 'running'
  return inJob(kind, ({ calls }) => ({ calls: calls.map((call) => (isFinal(call) ? { ...call, ...change(call) } : call)) }))
}

/** Replaces the trace of a job by a changed text that is sent and summed correctly. */
function withTrace(kind: Kind, change: (text: string) => string): (history: History) => History {
  return inJob(kind, ({ calls, trace }) => {
    const bytes = Buffer.from(change(trace.toString()))
    const checksum = `crc32:${crc32(bytes).toString(16).padStart(8, '0')}`
    const rest = calls.filter((call) => call.type !== 'patch')
    const patch: Call = { type: 'patch', at: 6_500, status: 202, start: 0, bytes }
    const summed = rest.map((call) =>
      call.type === 'update' && call.state !== 'running' ? { ...call, checksum, bytes: bytes.length } : call,
    )
    return { trace: bytes, calls: [patch, ...summed] }
  })
}

const withoutLine = (text: string): string => text.replace(/^.* 01O line 1\n/m, '')
const doubledLine = (text: string): string => text.replace(/^(.* 01O line 1\n)/m, '$1$1')
const last = (calls: readonly Call[]): Call[] => calls.slice(-1)

const MUTANTS: readonly { readonly rule: number; readonly name: string; readonly mutate: (history: History) => History }[] = [
  { rule: 1, name: 'a job never ends', mutate: inJob('success', ({ calls }) => ({ calls: calls.slice(0, -1) })) },
  { rule: 1, name: 'a job ends twice', mutate: inJob('success', ({ calls }) => ({ calls: [...calls, ...last(calls)] })) },
  {
    rule: 1,
    name: 'a second manager reports another state',
    mutate: inJob('success', ({ calls }) => ({
      calls: [
        ...calls,
        ...last(calls).map((call) => (call.type === 'update' ? { ...call, state: 'failed', status: 403 } : call)),
      ],
    })),
  },
  {
    rule: 2,
    name: 'a job fails by the runner alone',
    mutate: inFinal('success', () => ({ state: 'failed', reason: 'runner_system_failure' })),
  },
  {
    rule: 2,
    name: 'a failed script succeeds',
    mutate: inFinal('failing', () => ({ state: 'success', reason: undefined, exitCode: undefined })),
  },
  { rule: 2, name: 'an exit code is lost', mutate: inFinal('failing', () => ({ exitCode: 125 })) },
  { rule: 2, name: 'a job fails before its pod is deleted', mutate: inFinal('pod-deleted', () => ({ at: 6_900 })) },
  { rule: 2, name: 'a job fails to begin although no manager died', mutate: (history) => ({ ...history, kills: [] }) },
  { rule: 3, name: 'a line is lost', mutate: withTrace('success', withoutLine) },
  { rule: 3, name: 'a line is there twice', mutate: withTrace('failing', doubledLine) },
  {
    rule: 3,
    name: 'a line of another job is there',
    mutate: withTrace('success', (text) => text.replace(' 01O line 2\n', ' 01O line x\n')),
  },
  {
    rule: 3,
    name: 'the end of the output is lost',
    mutate: withTrace('artifact', (text) => text.replace(/^.* 01O line (?:4|5|6).*\n/gm, '')),
  },
  { rule: 3, name: 'a line has no time', mutate: withTrace('success', (text) => text.replace(/^\S+ 01O line 1\n/m, 'line 1\n')) },
  {
    rule: 3,
    name: 'a canceled job shows what it never wrote',
    mutate: withTrace('canceling', (text) => text.replace(/\n(?=[^\n]*Job failed)/, '\n2026-01-02T03:04:05.000006Z 01O other\n')),
  },
  {
    rule: 3,
    name: 'the last line says the opposite',
    mutate: withTrace('success', (text) => text.replace('Job succeeded', 'ERROR: Job failed')),
  },
  { rule: 3, name: 'the checksum is that of another trace', mutate: inFinal('success', () => ({ checksum: 'crc32:00000000' })) },
  { rule: 3, name: 'the size is wrong', mutate: inFinal('success', ({ bytes = 0 }) => ({ bytes: bytes + 1 })) },
  {
    rule: 3,
    name: 'a patch leaves a gap',
    mutate: inJob('success', ({ calls }) => {
      const at = calls.findIndex((call) => call.type === 'patch' && call.status === 202)
      return { calls: calls.filter((_, n) => n !== at) }
    }),
  },
  {
    rule: 3,
    name: 'a patch comes after the end',
    mutate: inJob('success', ({ calls, trace }) => ({
      calls: [...calls, { type: 'patch', at: 9_000, status: 202, start: trace.length, bytes: Buffer.from('x') }],
    })),
  },
  { rule: 4, name: 'a script begins twice', mutate: inJob('success', ({ runs }) => ({ runs: [...runs, 6_100] })) },
  { rule: 4, name: 'a script begins after the end', mutate: inJob('unborn', () => ({ runs: [8_500] })) },
  { rule: 4, name: 'a job has a result without a script', mutate: inJob('success', () => ({ runs: [] })) },
  {
    rule: 5,
    name: 'a pod stays for 70 looks',
    mutate: (history) => ({
      ...history,
      looks: history.looks.map((look, n) => (n < 85 ? { ...look, objects: [{ name: 'Pod/ci/job-1', job: 1 }] } : look)),
    }),
  },
  {
    rule: 5,
    name: 'the Secret of an aborted job is left',
    mutate: (history) => ({
      ...history,
      looks: history.looks.map((look, n) => (n < 20 ? look : { ...look, objects: [{ name: 'Secret/ci/job-5', job: 5 }] })),
    }),
  },
  {
    rule: 5,
    name: 'an object of no job is left',
    mutate: (history) => ({
      ...history,
      looks: [...history.looks, { at: 151_000, objects: [{ name: 'Secret/ci/x', job: undefined }], leases: [] }],
    }),
  },
  { rule: 5, name: 'the Lease of a dead manager is left', mutate: (history) => ({ ...history, living: [] }) },
  {
    rule: 6,
    name: 'a secret is in a patch that GitLab refused',
    mutate: inJob('failing', ({ calls, secret }) => ({
      calls: [{ type: 'patch', at: 6_000, status: 500, start: 0, bytes: Buffer.from(`it is ${secret}`) }, ...calls],
    })),
  },
  {
    rule: 7,
    name: 'a file is not uploaded',
    mutate: inJob('artifact', ({ calls }) => ({ calls: calls.filter(({ type }) => type !== 'upload') })),
  },
  {
    rule: 7,
    name: 'a file is damaged',
    mutate: inJob('artifact', ({ calls }) => ({
      calls: calls.map((call) => (call.type === 'upload' ? { ...call, bytes: Buffer.from('PK0000result.txt') } : call)),
    })),
  },
]

test('every rule has a broken history', () => {
  expect(new Set(MUTANTS.map(({ rule }) => rule))).toEqual(new Set(RULES))
})

test.each(MUTANTS)('the checker detects by rule $rule: $name', ({ rule, mutate }) => {
  for (const seed of SEEDS) {
    const found = checkHistory(mutate(syntheticHistory(seed))).map((violation) => violation.rule)
    expect(found, `seed ${seed}`).toContain(rule)
  }
})

test('a record without a pod, whose manager died, may stay for three minutes more', () => {
  const history = syntheticHistory(1)
  const rulesOf = (looks: number, kills = history.kills): number[] =>
    checkHistory({
      ...history,
      kills,
      looks: Array.from({ length: 300 }, (_, n) => ({
        at: 1_000 * n,
        objects: n < looks ? [{ name: 'Secret/ci/job-1', job: 1 }] : [],
        leases: ['lease/living'],
      })),
    }).map(({ rule }) => rule)
  expect(rulesOf(240)).toEqual([])
  expect(rulesOf(250)).toEqual([5])
  expect(rulesOf(240, [])).toContain(5)
})

test('a continued line has no line end where it was cut', () => {
  const at = '2026-01-02T03:04:05.000006Z'
  const text = `${at} 01O >>> begin of output\n${at} 01O 10 %\r\n${at} 00O between\n${at} 01O+20 %\r\n${at} 01O+done\n`
  expect(readTrace(Buffer.from(text))).toEqual({ output: '10 %\r20 %\rdone\n', lastLine: `${at} 01O+done` })
})
