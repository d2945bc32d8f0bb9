/** Memory, processors and disk of each step, as drawings with their figures, and what size would do. */
import { useQuery } from '@tanstack/react-query'
import { adviseSize, formatBytes } from '@windlass/plan'
import type { Build, BuildStep, StepUsage } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { formatClock } from '../../looks/time.ts'
import { Command } from '../../parts/copy.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Table } from '../../parts/table.tsx'
import { paths } from '../../url/paths.ts'
import { buildQueries } from '../queries.ts'
import { UsageDrawing } from './usage-drawing.tsx'
import { memoryTogether } from './usage-sums.ts'
import styles from './usage.module.css'

export function UsageTab({ build }: { readonly build: Build }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(buildQueries.usage(build.id))
  const stats = useQuery({ ...buildQueries.stats(build.pipeline ?? '', build.branch), enabled: build.pipeline !== undefined })
  if (isPending) return <Loading rows={6} what="the usage" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  const steps = (build.steps ?? []).filter(({ usage }) => usage !== undefined)
  if (steps.length === 0) return <Empty>No step was measured. Steps are measured once their containers run for a second.</Empty>
  const peak = memoryTogether(steps)
  const limit = Math.max(...steps.map(({ usage }) => usage?.memoryLimitBytes ?? 0))
  return (
    <section className={styles['usage']} aria-label="Usage">
      <p>
        Together the steps used at most {formatBytes(peak)} at the same time
        {limit > 0 && `; the limit of the runtime is ${formatBytes(limit)}`}, and{' '}
        {formatSeconds(sumOf(steps, (usage) => usage.cpuMs))} of processor time.
      </p>
      {data.isCut && <p className="quiet">Drawings of the first 200 steps are shown. The table has all steps.</p>}
      <ul className={styles['list']}>
        {steps.map((step) => (
          <StepUsageItem
            key={step.name}
            build={build}
            step={step}
            series={data.steps.filter((one) => one.step === step.name).at(-1)}
            stats={stats.data?.steps.find((one) => one.step === step.name)}
          />
        ))}
      </ul>
      <h2>Figures</h2>
      <Table
        caption="Usage of the steps"
        rows={steps}
        keyOf={({ name }) => name}
        columns={[
          { head: 'Step', cell: ({ name }) => <bdi>{name}</bdi> },
          { head: 'Memory', cell: ({ usage }) => bytesOf(usage?.memoryPeakBytes) },
          { head: 'Limit', cell: ({ usage }) => bytesOf(usage?.memoryLimitBytes) },
          { head: 'Processor', cell: ({ usage }) => formatSeconds(usage?.cpuMs) },
          { head: 'Read', cell: ({ usage }) => bytesOf(usage?.readBytes) },
          { head: 'Written', cell: ({ usage }) => bytesOf(usage?.writtenBytes) },
          {
            head: 'Time',
            cell: ({ startedAt, finishedAt }) =>
              startedAt === undefined || finishedAt === undefined ? '' : formatClock(finishedAt - startedAt),
          },
        ]}
      />
      <Command text={`windlass get usage ${build.id}`} />
    </section>
  )
}

type Stats = { readonly memoryP95?: number | undefined; readonly memoryBuilds?: number | undefined }

interface StepUsageItemProps {
  readonly build: Build
  readonly step: BuildStep
  readonly series: StepUsage | undefined
  readonly stats: Stats | undefined
}

function StepUsageItem({ build, step, series, stats }: StepUsageItemProps): ReactElement {
  const { memoryPeakBytes: peak, memoryLimitBytes: limit } = step.usage ?? {}
  const advice =
    limit === undefined || stats?.memoryP95 === undefined
      ? undefined
      : adviseSize({ memoryLimitBytes: limit, memoryP95: stats.memoryP95, builds: stats.memoryBuilds ?? 0 })
  return (
    <li className={styles['step']}>
      <h3>
        <Link href={paths.step(build.id, step.name)}>
          <bdi>{step.name}</bdi>
        </Link>
      </h3>
      <p className={styles['figures']}>
        {[
          peak === undefined ? '' : `${formatBytes(peak)}${limit === undefined ? '' : ` of ${formatBytes(limit)}`} memory`,
          step.usage?.cpuMs === undefined ? '' : `${formatSeconds(step.usage.cpuMs)} processor`,
        ]
          .filter((part) => part !== '')
          .join(' · ')}
      </p>
      {series !== undefined && series.points.length > 1 && (
        <div className={styles['drawings']}>
          <UsageDrawing
            name={`Memory of ${step.name}`}
            points={series.points.map(({ at, memoryBytes }) => ({ at, value: memoryBytes }))}
            limit={series.memoryLimitBytes ?? limit}
            format={formatBytes}
          />
          <UsageDrawing
            name={`Processors of ${step.name}`}
            points={series.points.map(({ at, processors }) => ({ at, value: processors }))}
            format={(value) => `${value.toFixed(1)} processors`}
          />
        </div>
      )}
      {advice !== undefined && (
        <p className={styles['advice']}>
          <bdi>{advice.text}</bdi>
        </p>
      )}
    </li>
  )
}

function sumOf(
  steps: readonly BuildStep[],
  valueOf: (usage: NonNullable<BuildStep['usage']>) => number | undefined,
): number | undefined {
  const values = steps.flatMap(({ usage }) => (usage === undefined ? [] : (valueOf(usage) ?? [])))
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0)
}

function bytesOf(bytes: number | undefined): string {
  return bytes === undefined ? '' : formatBytes(bytes)
}

function formatSeconds(ms: number | undefined): string {
  return ms === undefined ? '' : `${(ms / 1_000).toFixed(1)} s`
}
