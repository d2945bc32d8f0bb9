import { systemClock } from '@windlass/kit'
import { defined } from '@windlass/kit/defined'
import { formatDuration } from '@windlass/plan'
import type { PipelineStats } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatTime } from '../../format/time.ts'
import { parseTime } from '../../input/time.ts'
import { openSession } from '../../session/session.ts'

interface StatsOptions {
  readonly since: string | undefined
  readonly until: string | undefined
  readonly branch: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `get stats PIPELINE`. */
export async function showStats({ args, options, out, settings }: Invocation<StatsOptions>): Promise<void> {
  const { since, until, branch, output } = options
  const now = systemClock.now()
  const query = defined({
    from: since === undefined ? undefined : parseTime(since, now),
    to: until === undefined ? undefined : parseTime(until, now),
    branch,
  })
  const stats = await openSession(settings).client.pipelines.stats(args[0] ?? '', { query })
  if (output !== undefined) return printValue(out, stats, output)
  for (const line of describeStats(stats)) out.line(line)
}

/** Returns the lines of the description. Pure. */
function describeStats(stats: PipelineStats): string[] {
  const { builds, greenShare, duration, wait } = stats
  const summary = alignColumns([
    ['Builds:', `${builds.total} (${builds.success} success, ${builds.error} error, ${builds.terminated} terminated)`],
    ['Green:', greenShare === undefined ? '' : `${Math.round(greenShare * 100)} %`],
    ['Duration:', percentiles(duration)],
    ['Waits:', percentiles(wait)],
  ])
  return [
    ...summary,
    ...table(['WAITED FOR', 'BUILDS', 'TOTAL', 'P50', 'P95'], stats.waits.map(toWaitRow)),
    ...table(['STEP', 'RUNS', 'FAILED', 'P50', 'P95', 'MEMORY'], stats.steps.map(toStepRow)),
    ...stats.slower.map(toSlower),
    ...stats.flaky.map(toFlaky),
    ...toOversized(stats),
    ...(stats.isExact ? [] : ['Not all builds and steps were read.']),
  ]
}

function table(head: string[], rows: string[][]): string[] {
  return rows.length === 0 ? [] : ['', ...alignColumns([head, ...rows])]
}

function toWaitRow({ cause, count, totalMs, p50Ms, p95Ms }: PipelineStats['waits'][number]): string[] {
  return [cause, String(count), formatDuration(totalMs), time(p50Ms), time(p95Ms)]
}

function toStepRow({ step, count, failed, p50Ms, p95Ms, memoryP95 }: PipelineStats['steps'][number]): string[] {
  const memory = memoryP95 === undefined ? '' : mebibytes(memoryP95)
  return [step, String(count + failed), String(failed), time(p50Ms), time(p95Ms), memory]
}

function toSlower({ step, beforeMs, afterMs, first }: PipelineStats['slower'][number]): string {
  return `Slower: ${step ?? 'whole builds'}, p50 ${time(beforeMs)} -> ${time(afterMs)} since ${formatTime(first.startedAt)} (#${first.number})`
}

function toFlaky({ step, builds, of, evidence }: PipelineStats['flaky'][number]): string {
  return `Flaky: ${step} in ${builds} of ${of} builds: ${evidence.map(({ number }) => `#${number}`).join(' ')}`
}

function toOversized({ oversized }: PipelineStats): string[] {
  return oversized === undefined ? [] : [`Oversized: asks ${mebibytes(oversized.asked)}, p95 ${mebibytes(oversized.p95)}`]
}

function percentiles({ p50Ms, p95Ms }: PipelineStats['duration']): string {
  return p50Ms === undefined ? '' : `p50 ${time(p50Ms)}, p95 ${time(p95Ms)}`
}

function time(ms: number | undefined): string {
  return ms === undefined ? '' : formatDuration(ms)
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MiB`
}
