/** The steps of a build as a tree, each with its bars on the time line, and the step that is chosen. */
import { useQuery } from '@tanstack/react-query'
import { criticalPath, isFinalBuild, usualEnd, type TimedStep } from '@windlass/plan'
import type { Attempt, Build, BuildUsage } from '@windlass/protocol'
import { useEffect, useMemo, useRef, useState, type CSSProperties, type ReactElement } from 'react'
import { useLocation, useSearch } from 'wouter'
import { useLocationProperty } from 'wouter/use-browser-location'
import { useTime } from '../../looks/clock.ts'
import { formatClock, formatHour } from '../../looks/time.ts'
import { Empty } from '../../parts/empty.tsx'
import { WindowedList } from '../../parts/windowed-list.tsx'
import { queries } from '../../server/queries.ts'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { paths, SYSTEM } from '../../url/paths.ts'
import { AttemptBands, Attempts } from '../attempts.tsx'
import { buildQueries } from '../queries.ts'
import { BuildLogPanel, StepPanel } from './step-panel.tsx'
import { StepRow } from './step-row.tsx'
import { countsOf, foldedAtFirst, rowsOf } from './step-rows.ts'
import styles from './steps.module.css'
import { shareOf, spanOf, type Facts, type Span } from './time-line.ts'

interface StepsTabProps {
  readonly build: Build
  /** Name of the step in the address. Without one, the step to blame or the one that runs is shown. */
  readonly asked: string | undefined
  /** Name of the step to blame. */
  readonly blamed: string | undefined
}

const ROW_PX = 34
/** Share of the height of the window that may be above the log. */
const MOST_ABOVE = 0.4
/** How often the usage and the usual end of a running build are read again. Milliseconds. */
const REFRESH_MS = 5_000
/** Fewer builds give no usual time. */
const LEAST_BUILDS = 5
const NO_FACTS: Facts = { phases: [], holds: [] }

export function StepsTab({ build, asked, blamed }: StepsTabProps): ReactElement {
  const [, go] = useLocation()
  const { finishedAt } = build
  // The rows of an ended build stay as they are.
  const now = useTime((time) => finishedAt ?? time)
  const steps = useMemo(() => build.steps ?? [], [build.steps])
  const running = useRunningStep(build)
  const [isClosed, setIsClosed] = useState(false)
  const chosen = asked ?? (isClosed ? undefined : (blamed ?? running))
  const close = (): void => {
    setIsClosed(true)
    if (asked !== undefined) go(paths.build(build.id))
  }
  // The steps of a build that waits are not there yet.
  const [first, setFirst] = useState<ReadonlySet<string>>()
  if (first === undefined && steps.length > 0) setFirst(foldedAtFirst(steps, chosen))
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const folded = useMemo(() => toggled.symmetricDifference(first ?? new Set<string>()), [first, toggled])
  const rows = useMemo(() => rowsOf(steps, folded), [steps, folded])
  const counts = useMemo(() => countsOf(steps), [steps])
  const index = rows.findIndex(({ step }) => step.name === chosen)
  const step = steps.find(({ name }) => name === chosen)
  const isOpen = step !== undefined || chosen === SYSTEM
  const { facts, critical, usual, usualText } = useTimeFacts(build, Math.floor(now / REFRESH_MS) * REFRESH_MS)
  const move = (by: number): void => {
    const next = rows[Math.min(Math.max(index + by, 0), rows.length - 1)]
    if (next !== undefined) go(paths.step(build.id, next.step.name))
  }
  useShortcuts('Steps', [
    { keys: 'j', does: 'Next step', run: () => move(1) },
    { keys: 'k', does: 'Previous step', run: () => move(-1) },
  ])
  // An address that names lines of the log, or a step, shows them, also if a link of this page leads to it.
  const split = useRef<HTMLDivElement>(null)
  const hash = useLocationProperty(() => location.hash)
  const search = useSearch()
  useEffect(() => {
    if (asked === undefined || !isOpen) return
    const panel = split.current?.querySelector('section')
    const isBelow = panel !== null && panel !== undefined && panel.getBoundingClientRect().top > innerHeight * MOST_ABOVE
    if (isBelow) panel.scrollIntoView({ block: 'start' })
  }, [asked, isOpen, hash, search])
  if (steps.length === 0 && (build.attempts ?? []).length === 0)
    return <Empty>The build has no steps{build.problems === undefined ? ' yet' : ''}.</Empty>
  // The end that is expected of a running build is not in the past.
  const usualEndAt = usual === undefined || build.finishedAt !== undefined ? usual : Math.max(usual, now)
  const span = spanOf(build, build.finishedAt ?? usualEndAt ?? now)
  const mark = usualEndAt !== undefined && usualEndAt <= span.to ? `${shareOf(usualEndAt, span)}%` : undefined
  return (
    <div className={styles['split']} data-open={isOpen} ref={split}>
      <div className={styles['side']}>
        <div
          className={styles['steps']}
          data-usual={mark !== undefined}
          style={mark === undefined ? undefined : ({ '--usual': mark } as CSSProperties)}
        >
          <AttemptBands build={build} span={span} now={now} />
          <WindowedList
            label="Steps"
            rows={rows}
            rowHeight={ROW_PX}
            keyOf={(row) => row.step.name}
            reveal={index < 0 ? undefined : index}
            render={(row) => (
              <StepRow
                buildId={build.id}
                row={row}
                facts={facts.get(row.step.name) ?? NO_FACTS}
                span={span}
                now={now}
                isChosen={row.step.name === chosen}
                isCritical={critical.has(row.step.name)}
                counts={folded.has(row.step.name) ? counts.get(row.step.name) : undefined}
                isFolded={counts.has(row.step.name) ? folded.has(row.step.name) : undefined}
                onFold={() => setToggled(toggled.symmetricDifference(new Set([row.step.name])))}
              />
            )}
          />
        </div>
        <p className={styles['below']}>
          {build.startedAt !== undefined && <Ends span={span} />} {usualText}{' '}
          {critical.size > 0 && 'Underlined steps decide how long the build takes.'}
        </p>
        <Attempts build={build} />
      </div>
      {step !== undefined && <StepPanel key={step.name} build={build} step={step} onClose={close} />}
      {chosen === SYSTEM && <BuildLogPanel build={build} />}
    </div>
  )
}

/**
 * Returns the name of the step that runs. Of several it stays the same one until it ends. After the last one it is kept, so that its log stays. Undefined on the
 * page of a build that had ended when it was opened.
 */
function useRunningStep({ status, steps = [], progress }: Build): string | undefined {
  const [shown, setShown] = useState<string>()
  const runs = steps.filter((step) => step.status === 'running' && step.type !== 'group').map(({ name }) => name)
  const next = runs.find((name) => name === progress?.current) ?? runs[0]
  if (!isFinalBuild(status) && next !== undefined && (shown === undefined || !runs.includes(shown))) setShown(next)
  return shown
}

/** The ends of the time line. */
function Ends({ span: { from, to } }: { readonly span: Span }): ReactElement {
  const time = (at: number): ReactElement => <time dateTime={new Date(at).toISOString()}>{formatHour(at)}</time>
  return (
    <>
      From {time(from)} to {time(to)}.
    </>
  )
}

interface TimeFacts {
  /** Of all attempts, by step. */
  readonly facts: ReadonlyMap<string, Facts>
  /** Steps that decide when the build ends. */
  readonly critical: ReadonlySet<string>
  /** When builds like this one have ended. Epoch milliseconds. */
  readonly usual: number | undefined
  readonly usualText: string | undefined
}

/** Reads what the time line shows besides the steps. `now` changes every few seconds. */
function useTimeFacts(build: Build, now: number): TimeFacts {
  const isFinal = isFinalBuild(build.status)
  const { data: plan } = useQuery(queries.buildPlan(build.id))
  const { data: usage } = useQuery({ ...buildQueries.usage(build.id), refetchInterval: isFinal ? false : REFRESH_MS })
  const { data: stats } = useQuery({
    ...buildQueries.stats(build.pipeline ?? '', build.branch),
    enabled: build.pipeline !== undefined,
  })
  const planned = plan?.plan?.steps
  const { steps, startedAt, finishedAt, attempts } = build
  const critical = useMemo(() => {
    const states = new Map((steps ?? []).map((step) => [step.name, step]))
    const path = criticalPath(planned ?? [], (name) => ranHere(states.get(name)), finishedAt ?? now)
    const ran = (steps ?? []).filter((step) => step.type !== 'group' && ranHere(step)?.startedAt !== undefined)
    // In a plan without parallel steps all of them decide.
    return new Set(path.length < ran.length ? path : [])
  }, [planned, steps, finishedAt, now])
  const facts = useMemo(() => factsOf(usage, attempts ?? []), [usage, attempts])
  const { count = 0, p50Ms, p95Ms } = stats?.duration ?? {}
  const isKnown = count >= LEAST_BUILDS && p50Ms !== undefined && p95Ms !== undefined
  const usual = useMemo(() => {
    if (!isKnown || startedAt === undefined) return undefined
    if (finishedAt !== undefined || planned === undefined) return startedAt + p50Ms
    const states = new Map((steps ?? []).map((step) => [step.name, step]))
    const times = new Map((stats?.steps ?? []).map((one) => [one.step, one.p50Ms]))
    const stateOf = (name: string): TimedStep | undefined => {
      const state = states.get(name)
      return state === undefined ? undefined : { ...state, usualMs: times.get(name) }
    }
    return usualEnd(planned, stateOf, { from: startedAt, now })
  }, [isKnown, p50Ms, startedAt, finishedAt, planned, steps, stats, now])
  return { facts, critical, usual, usualText: isKnown ? usualTextOf({ count, p50Ms, p95Ms }) : undefined }
}

/** Returns the phases and holds of each step. What a lost attempt left open ends with the attempt. */
function factsOf(usage: BuildUsage | undefined, attempts: readonly Attempt[]): ReadonlyMap<string, Facts> {
  const ends = new Map(attempts.map(({ number, endedAt }) => [number, endedAt]))
  const found = new Map<string, Facts>()
  for (const { step, attempt, phases, holds = [] } of usage?.steps ?? []) {
    const ended = <T extends { readonly to?: number | undefined }>(part: T): T => ({ ...part, to: part.to ?? ends.get(attempt) })
    const before = found.get(step) ?? NO_FACTS
    found.set(step, { phases: [...before.phases, ...phases.map(ended)], holds: [...before.holds, ...holds.map(ended)] })
  }
  return found
}

/** Steps whose results came from another build took no time in this one. */
function ranHere<T extends { readonly carried?: boolean | undefined }>(step: T | undefined): T | undefined {
  return step?.carried === true ? undefined : step
}

function usualTextOf(usual: { readonly count: number; readonly p50Ms: number; readonly p95Ms: number }): string {
  return `Usual: ${formatClock(usual.p50Ms)} (median of ${usual.count}), at most ${formatClock(usual.p95Ms)} in 95 % of them.`
}
