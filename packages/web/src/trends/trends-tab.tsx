/** How the builds of a pipeline change over weeks: times, outcomes, steps, and what they wait for. */
import { useQuery } from '@tanstack/react-query'
import type { Pipeline, PipelineStats } from '@windlass/protocol'
import { useId, type ReactElement } from 'react'
import { useNow } from '../looks/clock.ts'
import { formatClock, formatDate } from '../looks/time.ts'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { Table } from '../parts/table.tsx'
import { queries } from '../server/queries.ts'
import { useParam } from '../url/search.ts'
import { Columns, Figure, Rows } from './bars.tsx'
import { causeText, Findings, formatMemory } from './findings.tsx'
import { pipelineQueries } from './queries.ts'
import { describeStats } from './sentence.ts'
import styles from './trends.module.css'

const SPANS = [7, 30, 90, 365] as const
const DEFAULT_DAYS = 30
/** Steps that are drawn; the table has all. */
const DRAWN = 12

export function TrendsTab({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
  const [branch, setBranch] = useParam('branch')
  const [span, setSpan] = useParam('days')
  const days = SPANS.find((one) => String(one) === span) ?? DEFAULT_DAYS
  const { data, error, isPending, refetch } = useQuery(pipelineQueries.stats(pipeline.name, days, branch))
  const { data: branches } = useQuery(queries.counts('branch', { pipeline: [pipeline.name] }))
  const names = branches?.items.flatMap(({ value }) => (value === undefined || value === '' ? [] : [value])) ?? []
  return (
    <div className={styles['stack']}>
      <div className={styles['choices']}>
        <Choice
          label="Branch"
          value={branch ?? ''}
          options={[
            ['', 'All branches'],
            ...[...new Set([...(branch === undefined ? [] : [branch]), ...names])].map((one) => [one, one] as const),
          ]}
          onChange={(value) => setBranch(value === '' ? undefined : value)}
        />
        <Choice
          label="Time"
          value={String(days)}
          options={SPANS.map((one) => [String(one), `${one} days`] as const)}
          onChange={(value) => setSpan(value === String(DEFAULT_DAYS) ? undefined : value)}
        />
      </div>
      {isPending && <Loading rows={8} what="statistics" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && data.builds.total === 0 && <Empty>No build of the pipeline ended in {days} days.</Empty>}
      {data !== undefined && data.builds.total > 0 && <Drawings stats={data} days={days} />}
      <Command text={sh`windlass get stats ${pipeline.name} ${branch === undefined ? [] : ['--branch', branch]}`} />
    </div>
  )
}

function Choice({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [string, string])[]
  readonly onChange: (value: string) => void
}): ReactElement {
  const id = useId()
  return (
    <div className={styles['choice']}>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

const clock = (ms: number | undefined): string => (ms === undefined ? '' : formatClock(ms))

function Drawings({ stats, days }: { readonly stats: PipelineStats; readonly days: number }): ReactElement {
  return (
    <>
      <p className={styles['sentence']}>{describeStats(stats, days)}</p>
      {!stats.isExact && <p className="quiet">Only the newest builds of the time are counted.</p>}
      <Findings stats={stats} />
      <div className={styles['figures']}>
        <WeeksFigures stats={stats} />
        <WaitsFigure stats={stats} />
        <StepsFigure stats={stats} />
      </div>
    </>
  )
}

function WeeksFigures({ stats: { weeks } }: { readonly stats: PipelineStats }): ReactElement {
  const now = useNow()
  const label = (week: number): string => formatDate(week, now)
  return (
    <>
      <Figure
        title="Duration by week"
        note="Successful builds, without approvals: median, and the 95th percentile behind it"
        drawing={
          <Columns
            label="Duration of successful builds by week"
            format={formatClock}
            bars={weeks.map(({ week, p50Ms = 0, p95Ms = 0 }) => ({
              label: label(week),
              parts: [
                { name: 'p50', value: p50Ms, look: 'strong' },
                { name: 'p95', value: p95Ms, look: 'weak' },
              ],
            }))}
          />
        }
        table={
          <Table
            caption="Duration and waiting by week"
            rows={weeks}
            keyOf={({ week }) => week}
            columns={[
              { head: 'Week of', cell: ({ week }) => label(week) },
              { head: 'p50', cell: ({ p50Ms }) => clock(p50Ms) },
              { head: 'p95', cell: ({ p95Ms }) => clock(p95Ms) },
              { head: 'Waits p95', cell: ({ waitP95Ms }) => clock(waitP95Ms) },
            ]}
          />
        }
      />
      <Figure
        title="Outcome by week"
        note="Succeeded, failed and terminated builds"
        drawing={
          <Columns
            label="Builds by outcome and week"
            isStacked
            format={String}
            bars={weeks.map(({ week, success, error, terminated }) => ({
              label: label(week),
              parts: [
                { name: 'succeeded', value: success, look: 'ok' },
                { name: 'failed', value: error, look: 'bad' },
                { name: 'terminated', value: terminated, look: 'stop' },
              ],
            }))}
          />
        }
        table={
          <Table
            caption="Builds by outcome and week"
            rows={weeks}
            keyOf={({ week }) => week}
            columns={[
              { head: 'Week of', cell: ({ week }) => label(week) },
              { head: 'Succeeded', cell: ({ success }) => success },
              { head: 'Failed', cell: ({ error }) => error },
              { head: 'Terminated', cell: ({ terminated }) => terminated },
            ]}
          />
        }
      />
    </>
  )
}

function WaitsFigure({ stats: { waits } }: { readonly stats: PipelineStats }): ReactElement {
  return (
    <Figure
      title="Waiting by cause"
      note="Total time of all builds"
      drawing={
        <Rows
          label="Waiting by cause"
          format={formatClock}
          bars={waits.map(({ cause, totalMs }) => ({
            label: causeText(cause),
            parts: [{ name: 'total', value: totalMs, look: 'wait' }],
          }))}
        />
      }
      table={
        <Table
          caption="Waiting by cause"
          rows={waits}
          keyOf={({ cause }) => cause}
          columns={[
            { head: 'Cause', cell: ({ cause }) => causeText(cause) },
            { head: 'Builds', cell: ({ count }) => count },
            { head: 'Total', cell: ({ totalMs }) => clock(totalMs) },
            { head: 'p50', cell: ({ p50Ms }) => clock(p50Ms) },
            { head: 'p95', cell: ({ p95Ms }) => clock(p95Ms) },
          ]}
        />
      }
    />
  )
}

function StepsFigure({ stats: { steps } }: { readonly stats: PipelineStats }): ReactElement {
  const drawn = steps.toSorted((one, other) => (other.p95Ms ?? 0) - (one.p95Ms ?? 0)).slice(0, DRAWN)
  return (
    <Figure
      title="Steps"
      note={
        steps.length > DRAWN
          ? `Median and 95th percentile of the ${DRAWN} longest of ${steps.length}`
          : 'Median and 95th percentile'
      }
      drawing={
        <Rows
          label="Duration of steps"
          format={formatClock}
          bars={drawn.map(({ step, p50Ms = 0, p95Ms = 0 }) => ({
            label: step,
            parts: [
              { name: 'p50', value: p50Ms, look: 'strong' },
              { name: 'p95', value: p95Ms, look: 'weak' },
            ],
          }))}
        />
      }
      table={
        <Table
          caption="Steps"
          rows={steps}
          keyOf={({ step }) => step}
          columns={[
            { head: 'Step', cell: ({ step }) => <bdi className="mono">{step}</bdi> },
            { head: 'Runs', cell: ({ count, failed }) => count + failed },
            { head: 'Failed', cell: ({ failed }) => failed },
            { head: 'p50', cell: ({ p50Ms }) => clock(p50Ms) },
            { head: 'p95', cell: ({ p95Ms }) => clock(p95Ms) },
            { head: 'Memory p95', cell: ({ memoryP95 }) => (memoryP95 === undefined ? '' : formatMemory(memoryP95)) },
          ]}
        />
      }
    />
  )
}
