/**
 * The rules that a run of chaos with GitLab jobs may not break:
 *
 * 1 each job ends once: GitLab accepts one final state, and no manager reports another one
 * 2 the final state is that of the script, unless the job was harmed
 * 3 the trace has every byte that the script wrote, once and in order; its patches and its checksum agree with it
 * 4 a script begins at most once, and never after the end of its job
 * 5 nothing of an ended job is in the cluster 60 looks after its end, and no Lease of a manager that is gone at the end. A record without a pod, whose
 *   manager died, has three minutes more
 * 6 no secret is in a trace
 * 7 a job that succeeds has uploaded its file, whole
 */
import { crc32 } from 'node:zlib'
import { acceptedFinal, type History, type JobHistory, type Update, type Violation } from './history.ts'
import { readTrace } from './trace-text.ts'

export const RULES = [1, 2, 3, 4, 5, 6, 7] as const

/** Looks within which the objects of an ended job are removed. */
const LOOKS = 60
/** Time for which a record without a pod is left to its manager, which could still be creating the pod. Milliseconds. */
const RECORD_MS = 180_000

/** Returns all violations. Pure. */
export function checkHistory(history: History): Violation[] {
  const ofJobs = history.jobs.flatMap((job) => {
    const found = [
      ...checkEnd(job),
      ...checkState(job, history),
      ...checkTrace(job),
      ...checkPatches(job),
      ...checkRuns(job),
      ...checkSecret(job),
      ...checkArtifact(job),
    ]
    return found.map(([rule, text]) => ({ rule, job: job.id, text }))
  })
  return [...ofJobs, ...checkRemains(history)]
}

type Found = readonly [rule: number, text: string]

const isAborted = ({ harms }: JobHistory): boolean => harms.some(({ type }) => type === 'aborted')
const shown = ({ state, reason, exitCode }: Update): string =>
  [state, reason, exitCode].filter((part) => part !== undefined).join('/')

/** Whether a state is what the script itself leads to. */
function isNatural({ expected: { exitCode } }: JobHistory, final: Update): boolean {
  return exitCode === 0
    ? final.state === 'success'
    : final.state === 'failed' && (final.reason ?? 'script_failure') === 'script_failure' && final.exitCode === exitCode
}

function checkEnd(job: JobHistory): Found[] {
  const finals = job.calls.filter((call): call is Update => call.type === 'update' && call.state !== 'running')
  const states = new Set(finals.map(shown))
  const found: Found[] = states.size > 1 ? [[1, `several final states were reported: ${[...states].join(', ')}`]] : []
  const accepted = finals.filter(({ status }) => status === 200).length
  if (accepted > 1) found.push([1, `GitLab accepted ${accepted} final states`])
  // GitLab itself ended a job that a user aborted.
  if (accepted === 0 && !isAborted(job)) found.push([1, 'the job never ended'])
  return found
}

function checkState(job: JobHistory, { kills }: History): Found[] {
  const final = acceptedFinal(job)
  if (final === undefined || isNatural(job, final)) return []
  const isHarmed = (type: string): boolean => job.harms.some((harm) => harm.type === type && harm.at <= final.at)
  if (final.state === 'failed' && (isHarmed('canceling') || isHarmed('aborted'))) return []
  // A manager that dies while it creates the pod leaves a job that nobody can begin.
  const began = job.runs[0] ?? Infinity
  const isUnborn = kills.some(({ systemId, at }) =>
    job.given.some((one) => one.systemId === systemId && one.at <= at && at <= began),
  )
  if (final.reason === 'runner_system_failure' && (isHarmed('pod-deleted') || isUnborn)) return []
  return [[2, `the job ended as ${shown(final)}, and its script ends with ${job.expected.exitCode}`]]
}

function checkTrace(job: JobHistory): Found[] {
  const final = acceptedFinal(job)
  if (final === undefined && !isAborted(job)) return []
  if (final === undefined && job.trace.length === 0) return []
  const text = readTrace(job.trace)
  // The trace of an aborted job ends anywhere.
  if (typeof text === 'string') return final === undefined ? [] : [[3, text]]
  const { output: wanted } = job.expected
  const isWhole = final !== undefined && isNatural(job, final)
  const { output, lastLine } = text
  const found: Found[] = []
  if (isWhole ? output !== wanted : !wanted.startsWith(output.trimEnd()))
    found.push([3, `the output differs from what the script wrote: ${difference(output, wanted)}`])
  if (final === undefined) return found
  const ending = final.state === 'success' ? 'Job succeeded' : 'ERROR: Job failed'
  if (!lastLine.includes(ending)) found.push([3, `the last line is ${JSON.stringify(lastLine)}, without "${ending}"`])
  const sum = `crc32:${crc32(job.trace).toString(16).padStart(8, '0')}`
  if (final.checksum !== sum) found.push([3, `the checksum is ${final.checksum ?? 'missing'}, and that of the trace is ${sum}`])
  if (final.bytes !== job.trace.length)
    found.push([3, `the size is ${final.bytes ?? 'missing'}, and that of the trace is ${job.trace.length}`])
  return found
}

function difference(is: string, wanted: string): string {
  const [a, b] = [is.split('\n'), wanted.split('\n')]
  const at = a.findIndex((line, n) => line !== b[n])
  const place = at < 0 ? a.length : at
  return `line ${place + 1} is ${JSON.stringify(a[place]?.slice(0, 80))}, not ${JSON.stringify(b[place]?.slice(0, 80))}`
}

/** Repeats the accepted patches. A state that GitLab refuses with 412 empties the trace. */
function checkPatches(job: JobHistory): Found[] {
  let trace = Buffer.alloc(0)
  let isOver = false
  for (const call of job.calls) {
    if (call.type === 'update') {
      if (call.status === 412) trace = Buffer.alloc(0)
      if (call.status === 200 && call.state !== 'running') isOver = true
    }
    if (call.type !== 'patch' || call.status !== 202) continue
    if (isOver) return [[3, 'a patch was accepted after the end']]
    if (call.start !== trace.length) return [[3, `a patch begins at ${call.start}, and the trace has ${trace.length} bytes`]]
    trace = Buffer.concat([trace, call.bytes])
  }
  return trace.equals(job.trace) ? [] : [[3, 'the patches do not make the stored trace']]
}

function checkRuns(job: JobHistory): Found[] {
  const { runs } = job
  const final = acceptedFinal(job)
  const found: Found[] = []
  if (runs.length > 1) found.push([4, `the script began ${runs.length} times`])
  if (final !== undefined && runs.some((at) => at > final.at)) found.push([4, 'the script began after the end of the job'])
  if (final !== undefined && isNatural(job, final) && runs.length === 0)
    found.push([4, 'the job has a result, and its script never began'])
  return found
}

function checkSecret({ calls, secret }: JobHistory): Found[] {
  const leaks = calls.some((call) => call.type === 'patch' && call.bytes.includes(secret))
  return leaks ? [[6, 'a patch has the secret of the job']] : []
}

function checkArtifact(job: JobHistory): Found[] {
  const { artifact } = job.expected
  if (artifact === undefined || acceptedFinal(job)?.state !== 'success') return []
  const uploads = job.calls.filter((call) => call.type === 'upload' && call.status === 201)
  if (uploads.length === 0) return [[7, 'the file was not uploaded']]
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(crc32(artifact.content))
  const isWhole = uploads.every(
    (call) => call.type === 'upload' && call.bytes.includes(artifact.name) && call.bytes.includes(sum),
  )
  return isWhole ? [] : [[7, `an upload does not have the file ${artifact.name} as it was written`]]
}

/** The time of a job's end, from which its objects have to go. */
function endOf(job: JobHistory): number | undefined {
  return acceptedFinal(job)?.at ?? job.harms.find(({ type }) => type === 'aborted')?.at
}

/** The time until which the record of a job may be left. A manager that dies while it removes a job has removed the pod first. */
function leftUntil({ given }: JobHistory, kills: History['kills']): number {
  const from = given[0]?.at ?? Infinity
  return kills.some(({ at }) => at >= from) ? (given.at(-1)?.at ?? 0) + RECORD_MS : 0
}

function checkRemains({ jobs, looks, kills, calmAt, living }: History): Violation[] {
  const found: Violation[] = []
  const known = new Map(jobs.map((job) => [job.id, { end: endOf(job), recordUntil: leftUntil(job, kills) }]))
  const late = new Set<string>()
  for (const [n, { objects }] of looks.entries()) {
    const withPod = new Set(objects.filter(({ name }) => name.startsWith('Pod/')).map(({ job }) => job))
    for (const { name, job } of objects) {
      const { end, recordUntil = 0 } = (job === undefined ? undefined : known.get(job)) ?? {}
      if (end === undefined || late.has(name)) continue
      const from = Math.max(end, calmAt, withPod.has(job) ? 0 : recordUntil)
      const first = looks.findIndex(({ at }) => at >= from)
      if (first < 0 || n - first < LOOKS) continue
      late.add(name)
      found.push({ rule: 5, job, text: `${name} is still there ${n - first} looks after the end of the job` })
    }
  }
  const last = looks.at(-1)
  for (const { name, job } of last?.objects ?? [])
    if (!late.has(name)) found.push({ rule: 5, job, text: `${name} is left at the end of the run` })
  for (const lease of last?.leases ?? [])
    if (!living.includes(lease)) found.push({ rule: 5, job: undefined, text: `${lease} is left, and its manager is gone` })
  return found
}
