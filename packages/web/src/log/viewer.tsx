/** The log of a step: rows of any number, search, marks, and what arrives while the step runs. */
import { useEffect, useLayoutEffect, useRef, useState, type ReactElement } from 'react'
import { useLocationProperty } from 'wouter/use-browser-location'
import { Button } from '../parts/button.tsx'
import { Problem } from '../parts/problem.tsx'
import { copyAndTell, tell } from '../shell/toasts.tsx'
import { readLines } from '../url/paths.ts'
import { useParam } from '../url/search.ts'
import { Bar } from './bar.tsx'
import { TIMES, type Times } from './rows/format.ts'
import { Log } from './log.ts'
import { EMPTY, type LogName, type LogState } from './lines/log-state.ts'
import styles from './log.module.css'
import { MAX_COPIED_LINES, toHash } from './lines/select.ts'
import { NewLines } from './new-lines.tsx'
import { ServerMarks } from './lines/server-marks.tsx'
import { Strip } from './rows/strip.tsx'
import { useLogKeys } from './keys.ts'
import { useNewLines } from './use-new-lines.ts'
import type { Settings } from './view.ts'

export interface LogViewerProps extends LogName {
  /** True while output may follow. */
  readonly live: boolean
  /** True to show the first problem at the start, or the end if there is none. */
  readonly opensAtProblem?: boolean
  /** False if `e` has another meaning where the log is shown. */
  readonly hasProblemKeys?: boolean
}

const KEPT = 'windlass.log'
const PLAIN: Settings = { wraps: false, times: 'none', showsControls: false }
function readSettings(): Settings {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? '{}') as Partial<Settings>
    const times = TIMES.find((one) => one === kept.times) ?? 'none'
    return { wraps: kept.wraps === true, times, showsControls: false }
  } catch {
    return PLAIN
  }
}

function keepSettings({ wraps, times }: Settings): void {
  try {
    localStorage.setItem(KEPT, JSON.stringify({ wraps, times }))
  } catch {
    // The choice holds until the page is closed.
  }
}

/** Returns the lines that the address marks, numbered from 0. */
function markedLines(): readonly [number, number] | undefined {
  const lines = readLines(location.hash)
  return lines === undefined ? undefined : [Math.max(0, lines[0] - 1), Math.max(0, lines[1] - 1)]
}

/** Shows a stream of a log. Fills its container, which must have a height. */
export function LogViewer({
  buildId,
  attempt,
  stream,
  live,
  opensAtProblem = false,
  hasProblemKeys = true,
}: LogViewerProps): ReactElement {
  const [settings, setSettings] = useState(readSettings)
  const [state, setState] = useState(EMPTY)
  const [only, setOnly] = useParam('only')
  const isOnlyNew = only === 'new'
  const fresh = useNewLines({ buildId, attempt, stream }, { isWanted: opensAtProblem, isAsked: isOnlyNew })
  const log = useRef<Log>(undefined)
  const viewer = useRef<HTMLElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const spacer = useRef<HTMLDivElement>(null)
  const rows = useRef<HTMLDivElement>(null)
  const searchField = useRef<HTMLInputElement>(null)
  const lineField = useRef<HTMLInputElement>(null)
  const first = useRef(settings)

  useLayoutEffect(() => {
    if (viewer.current === null || scroller.current === null || spacer.current === null || rows.current === null) return undefined
    const elements = { viewer: viewer.current, scroller: scroller.current, spacer: spacer.current, rows: rows.current }
    const open = new Log(
      { buildId, attempt, stream },
      { elements, settings: first.current, live, opensAtProblem, changed: () => setState(open.state) },
    )
    log.current = open
    void open.open(markedLines())
    return () => {
      open.close()
      log.current = undefined
    }
    // A log that ends is not opened again: the stream tells of its end. A step that fails meanwhile does not move the view.
  }, [buildId, attempt, stream])

  // Links of the page change the address without an event of the browser.
  const hash = useLocationProperty(() => location.hash)
  const shownHash = useRef(hash)
  useEffect(() => {
    if (hash === shownHash.current) return
    shownHash.current = hash
    log.current?.mark(markedLines(), true)
  }, [hash])

  const change = (changed: Partial<Settings>): void => {
    const next = { ...settings, ...changed }
    first.current = next
    setSettings(next)
    keepSettings(next)
  }
  useEffect(() => {
    if (log.current !== undefined) log.current.view.settings = settings
  }, [settings])

  useEffect(() => {
    if (log.current !== undefined && fresh !== undefined) log.current.newLines = new Set(fresh.lines.map(({ line }) => line))
  }, [fresh])

  const select = (line: number, isRange: boolean): void => {
    shownHash.current = toHash(log.current?.markLine(line, isRange))
    history.replaceState(history.state, '', location.pathname + location.search + shownHash.current)
  }
  const copy = async (): Promise<void> => {
    const text = await log.current?.readSelected()
    if (text === undefined)
      return tell({ text: `Mark up to ${MAX_COPIED_LINES.toLocaleString('en')} lines first. Download the log for more.` })
    await copyAndTell(text, 'the lines')
  }
  const showLine = (line: number): void => log.current?.mark([line, line], true)
  const showProblem = async (step: 1 | -1): Promise<void> => {
    if (isOnlyNew) setOnly(undefined)
    if ((await log.current?.showProblem(step)) === false) tell({ text: 'The log reports no problem of a known form.' })
  }
  const toggleNew = (): void => setOnly(isOnlyNew ? undefined : 'new')
  const nextTimes = (): Times => TIMES[(TIMES.indexOf(settings.times) + 1) % TIMES.length] ?? 'none'

  useLogKeys({
    search: () => searchField.current?.select(),
    line: () => lineField.current?.focus(),
    match: (step) => log.current?.showMatch(step),
    problem: hasProblemKeys && (state.problems.length > 0 || state.isLive) ? (step) => void showProblem(step) : undefined,
    onlyNew: toggleNew,
    start: () => log.current?.view.toStart(),
    end: () => log.current?.toEnd(),
    wrap: () => change({ wraps: !settings.wraps }),
    times: () => change({ times: nextTimes() }),
    follow: () => log.current?.toggleFollow(),
    fold: () => log.current?.view.toggleFolds(),
    extend: (step) => {
      const [from, to] = state.marked ?? [0, -1]
      select(step > 0 ? Math.min(to + 1, state.total - 1) : Math.max(0, from - 1), state.marked !== undefined)
    },
    copy: () => void copy(),
    // The keys of the log also work while the whole content has the focus.
    isInView: () =>
      viewer.current?.contains(document.activeElement) === true || document.activeElement?.contains(viewer.current) === true,
  })

  return (
    <section ref={viewer} className={styles['viewer']} aria-label={`Log of ${stream}`} data-wrap={settings.wraps || undefined}>
      <Bar
        name={{ buildId, attempt, stream }}
        state={state}
        settings={settings}
        searchField={searchField}
        lineField={lineField}
        onChange={change}
        onSearch={(wanted) => log.current?.search(wanted)}
        onMatch={(step) => log.current?.showMatch(step)}
        onLine={showLine}
        onProblem={(step) => void showProblem(step)}
        isOnlyNew={isOnlyNew}
        newCount={fresh?.count}
        onOnlyNew={toggleNew}
        onFollow={() => log.current?.toggleFollow()}
        onFold={() => log.current?.view.toggleFolds()}
        onCopy={() => void copy()}
      />
      <div className={styles['body']}>
        <div
          ref={scroller}
          className={styles['scroller']}
          role="table"
          aria-label={`Lines of ${stream}`}
          aria-rowcount={state.total}
          tabIndex={0}
          onClick={({ target, shiftKey }) => {
            const cell = target instanceof HTMLElement ? target.closest<HTMLElement>('[role="rowheader"]') : null
            const line = Number(cell?.parentElement?.dataset['line'])
            if (cell === null || Number.isNaN(line)) return
            if (cell.dataset['fold'] === undefined || shiftKey || log.current?.view.toggleFold(line) !== true)
              select(line, shiftKey)
          }}
        >
          <div ref={spacer} className={styles['spacer']} role="presentation">
            <div className={styles['layer']} role="presentation">
              <div ref={rows} className={styles['rows']} role="rowgroup" />
            </div>
          </div>
        </div>
        {state.matches.length + state.problems.length > 0 && (
          <Strip
            matches={state.matches}
            problems={state.problems}
            version={state.matches.length}
            total={state.total}
            onShow={(line) => log.current?.view.show(line)}
          />
        )}
        {isOnlyNew && (
          <NewLines
            name={{ buildId, attempt, stream }}
            onShow={(line) => {
              setOnly(undefined)
              showLine(line)
            }}
          />
        )}
        <State state={state} onRetry={() => log.current?.retry()} />
        {state.isLive && !state.isFollowing && state.unseen > 0 && (
          <div className={styles['pill']}>
            <Button small tone="primary" onClick={() => log.current?.toEnd()}>
              {state.unseen.toLocaleString('en')} new {state.unseen === 1 ? 'line' : 'lines'}
            </Button>
          </div>
        )}
      </div>
      <ServerMarks buildId={buildId} attempt={attempt} stream={stream} isLive={state.isLive} />
    </section>
  )
}

/** What stands in the place of rows: a problem, or why there are none. */
function State({ state, onRetry }: { readonly state: LogState; readonly onRetry: () => void }): ReactElement | null {
  if (state.error !== undefined)
    return (
      <div className={styles['state']}>
        <Problem error={state.error} onRetry={onRetry} />
      </div>
    )
  if (!state.isLoaded || state.total > 0) return null
  return <p className={styles['state']}>{state.isLive ? 'The step has written no output yet.' : 'The step wrote no output.'}</p>
}
