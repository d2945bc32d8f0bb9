/** Histories of a correct system, for tests of the checker. */
import { crc32 } from 'node:zlib'
import { seededRandom, type Random } from '../../chaos/faults/random.ts'
import type { Call, History, JobHistory, Look } from './history.ts'
import { BEGIN, END } from './trace-text.ts'

/** Kinds of jobs, in the order of their IDs. */
export const KINDS = ['success', 'failing', 'artifact', 'canceling', 'aborted', 'pod-deleted', 'unborn'] as const
export type Kind = (typeof KINDS)[number]

const line = (stream: string, text: string): string => `2026-01-02T03:04:05.000006Z ${stream}O ${text}\n`

/** Returns a history with one job of each kind. */
export function syntheticHistory(seed: number): History {
  const random = seededRandom(seed)
  const jobs = KINDS.map((kind, n) => jobOf(kind, n + 1, random.fork(kind)))
  const looks: Look[] = Array.from({ length: 150 }, (_, n) => ({
    at: 1_000 * n,
    objects: n < 20 ? jobs.map(({ id }) => ({ name: `Pod/ci/job-${id}`, job: id })) : [],
    leases: n < 60 ? ['lease/dead', 'lease/living'] : ['lease/living'],
  }))
  return { seed, jobs, kills: [{ systemId: 'r_dead', at: 5_500 }], calmAt: 10_000, looks, living: ['lease/living'] }
}

function jobOf(kind: Kind, id: number, random: Random): JobHistory {
  const lines = Array.from({ length: random.between(5, 30) }, (_, n) => (n % 4 === 3 ? `line ${n} [MASKED]` : `line ${n}`))
  const exitCode = kind === 'failing' ? random.between(1, 120) : 0
  const isCut = kind === 'canceling' || kind === 'aborted' || kind === 'pod-deleted'
  const written = kind === 'unborn' ? [] : lines.slice(0, isCut ? random.between(0, lines.length - 1) : undefined)
  const failed = kind !== 'success' && kind !== 'artifact'
  const trace = Buffer.from(
    [
      line('00', 'Running with windlass'),
      line('01', BEGIN),
      line('01', '\u001B[32;1m$ for n in 1 2\u001B[0;m'),
      ...written.map((text) => line('01', text)),
      ...(isCut || kind === 'unborn' ? [] : [line('01', END)]),
      ...(kind === 'aborted' ? [] : [line('00', failed ? 'ERROR: Job failed' : 'Job succeeded')]),
    ].join(''),
  )
  const artifact = kind === 'artifact' ? { name: 'result.txt', content: `result ${id}\n` } : undefined
  return {
    id,
    kind,
    expected: { output: lines.map((text) => `${text}\n`).join(''), exitCode, artifact },
    secret: `secret-${id}`,
    harms: isCut ? [{ type: kind, at: 7_000 }] : [],
    given: [{ systemId: 'r_dead', at: 5_000 }],
    runs: kind === 'unborn' ? [] : [5_300],
    calls: [...patchesOf(trace, random), ...uploadsOf(artifact), ...endOf({ kind, exitCode, failed, trace })],
    trace,
  }
}

function patchesOf(trace: Buffer, random: Random): Call[] {
  const calls: Call[] = [{ type: 'update', at: 5_100, status: 200, state: 'running', ...NOTHING }]
  for (let start = 0; start < trace.length;) {
    const end = Math.min(trace.length, start + random.between(20, 200))
    // GitLab refuses some, and the runner repeats them.
    if (random.chance(0.2)) calls.push({ type: 'patch', at: 6_500, status: 500, start, bytes: trace.subarray(start, end) })
    calls.push({ type: 'patch', at: 6_500, status: 202, start, bytes: trace.subarray(start, end) })
    start = end
  }
  return calls
}

const NOTHING = { reason: undefined, exitCode: undefined, checksum: undefined, bytes: undefined }

function uploadsOf(artifact: JobHistory['expected']['artifact']): Call[] {
  if (artifact === undefined) return []
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(crc32(artifact.content))
  return [{ type: 'upload', at: 7_500, status: 201, bytes: Buffer.concat([Buffer.from('PK'), sum, Buffer.from(artifact.name)]) }]
}

function endOf(options: { kind: Kind; exitCode: number; failed: boolean; trace: Buffer }): Call[] {
  const { kind, exitCode, failed, trace } = options
  if (kind === 'aborted') return []
  const reason = kind === 'pod-deleted' || kind === 'unborn' ? 'runner_system_failure' : 'script_failure'
  return [
    {
      type: 'update',
      at: 8_000,
      status: 200,
      state: failed ? 'failed' : 'success',
      reason: failed ? (kind === 'canceling' ? 'unknown_failure' : reason) : undefined,
      exitCode: exitCode === 0 ? undefined : exitCode,
      checksum: `crc32:${crc32(trace).toString(16).padStart(8, '0')}`,
      bytes: trace.length,
    },
  ]
}
