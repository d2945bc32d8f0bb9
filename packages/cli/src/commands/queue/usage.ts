import type { ApiClient } from '@windlass/client'
import { defined } from '@windlass/kit/defined'
import { adviseSize, formatBytes, formatDuration } from '@windlass/plan'
import { STEP_PHASES, type BuildUsage, type PipelineStats, type StepUsage } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatTime } from '../../format/time.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession } from '../../session/session.ts'

/** Runs `get usage BUILD`. */
export async function showUsage({
  args,
  options,
  out,
  settings,
}: Invocation<{ step: string | undefined; output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const id = requireBuildId(args[0] ?? '')
  const { client } = openSession(settings)
  const usage = await client.builds.usage(id, { query: defined({ step: options.step }) })
  if (options.output !== undefined) return printValue(out, usage, options.output)
  if (usage.steps.length === 0) return out.note('Nothing was measured.')
  for (const line of usageTable(usage)) out.line(line)
  for (const step of options.step === undefined ? [] : usage.steps) for (const line of pointTable(step)) out.line(line)
  const advice = sizeAdvice(usage, (await readStats(client, id))?.steps ?? [])
  for (const line of advice.length === 0 ? [] : ['', ...advice]) out.line(line)
  if (usage.isCut) out.note('The build has more steps. Name one with --step.')
}

/** Returns a row for each step: the time of its phases, its highest memory, and the processors that it used at most. */
export function usageTable({ steps }: BuildUsage): string[] {
  const phases = STEP_PHASES.filter((name) => steps.some((step) => step.phases.some(({ phase }) => phase === name)))
  const head = ['STEP', ...phases.map((name) => name.toUpperCase()), 'MEMORY', 'PROCESSORS']
  const rows = steps.map((step) => [
    step.attempt > 1 ? `${step.step} (attempt ${step.attempt})` : step.step,
    ...phases.map((name) => phaseTime(step, name)),
    memoryOf(step),
    highest(step.points.flatMap(({ processors }) => processors ?? []))?.toFixed(2) ?? '',
  ])
  return alignColumns([head, ...rows])
}

/** Returns a line for each step that asks for more memory than it needs. */
export function sizeAdvice({ steps }: BuildUsage, stats: PipelineStats['steps']): string[] {
  return steps.flatMap(({ step, memoryLimitBytes }) => {
    const { memoryP95, memoryBuilds: builds = 0 } = stats.find((one) => one.step === step) ?? {}
    if (memoryLimitBytes === undefined || memoryP95 === undefined) return []
    const advice = adviseSize({ memoryLimitBytes, memoryP95, builds })
    return advice === undefined ? [] : [`${step}: ${advice.text}`]
  })
}

/** Reads the statistics of the pipeline of a build; undefined without a pipeline, or if they cannot be read. */
async function readStats(client: ApiClient, id: string): Promise<PipelineStats | undefined> {
  const { pipeline, branch } = await client.builds.get(id)
  if (pipeline === undefined) return undefined
  return client.pipelines.stats(pipeline, { query: defined({ branch }) }).catch(() => undefined)
}

function pointTable({ points }: StepUsage): string[] {
  if (points.length === 0) return []
  const rows = points.map(({ at, memoryBytes, processors }) => [
    formatTime(at),
    memoryBytes === undefined ? '' : formatBytes(memoryBytes),
    processors === undefined ? '' : processors.toFixed(2),
  ])
  return ['', ...alignColumns([['TIME', 'MEMORY', 'PROCESSORS'], ...rows])]
}

/** Returns the sum of a phase over all tries; with `…` if it has not ended. */
function phaseTime({ phases }: StepUsage, name: (typeof STEP_PHASES)[number]): string {
  const own = phases.filter(({ phase }) => phase === name)
  if (own.length === 0) return ''
  if (own.some(({ to }) => to === undefined)) return '…'
  return formatDuration(own.reduce((sum, { from, to = from }) => sum + to - from, 0))
}

function memoryOf({ points, memoryLimitBytes: limit }: StepUsage): string {
  const most = highest(points.flatMap(({ memoryBytes }) => memoryBytes ?? []))
  if (most === undefined) return ''
  return limit === undefined ? formatBytes(most) : `${formatBytes(most)} of ${formatBytes(limit)}`
}

function highest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.max(...values)
}
