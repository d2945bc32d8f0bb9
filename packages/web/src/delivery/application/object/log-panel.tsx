/** The log of a container of a pod: followed, filtered, and stored as a file. */
import { plural } from '@windlass/plan'
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactElement } from 'react'
import { Button } from '../../../parts/button.tsx'
import { Command } from '../../../parts/copy.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Check, Select } from '../../../parts/forms/choice.tsx'
import layout from '../../../parts/layout.module.css'
import { Loading } from '../../../parts/loading.tsx'
import { Problem, toProblem } from '../../../parts/problem.tsx'
import { saveText } from '../../../parts/download.ts'
import { sh } from '../../../parts/shell.ts'
import { WindowedList } from '../../../parts/windowed-list.tsx'
import type { LiveApplication } from '../use-live.ts'
import { filterRows, GAPS, toFile, type LogRow } from './log-rows.ts'
import styles from './object.module.css'
import { useContainerLog, type ShownLog } from './use-container-log.ts'

/** Height of a row, as the styles have it. Pixels. */
const ROW_PX = 20
/** Distance from the end at which new lines move the view. Pixels. */
const NEAR_END_PX = 40

const SINCE = [
  { value: '', label: 'the newest lines' },
  { value: '300', label: '5 minutes' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '24 hours' },
] as const

export interface LogPanelProps {
  readonly live: LiveApplication
  readonly pod: string
  readonly namespace: string
  readonly containers: readonly string[]
}

export function LogPanel({ live, pod, namespace, containers }: LogPanelProps): ReactElement {
  const [chosen, setChosen] = useState(containers[0] ?? '')
  const [isPrevious, setIsPrevious] = useState(false)
  const [since, setSince] = useState('')
  const [isFollowed, setIsFollowed] = useState(true)
  const [words, setWords] = useState('')
  const place = { id: live.id, pod, namespace, container: chosen, isPrevious, since: since === '' ? undefined : Number(since) }
  const [log, again] = useContainerLog(place, isFollowed)
  const rows = useMemo(() => filterRows(log.rows, words), [log.rows, words])
  const { runtime, name } = live.reported
  const mode = isPrevious ? ' --previous' : ' -f'
  const options = `${since === '' ? '' : ` --since ${since}`} -c ${chosen}${mode}`
  return (
    <section className={layout['tight']} aria-label="Log">
      <div className={styles['bar']}>
        <Select
          label="Container"
          options={containers.map((value) => ({ value, label: value }))}
          value={chosen}
          onChange={setChosen}
        />
        <Select label="Since" options={SINCE} value={since} onChange={setSince} />
        <label className={styles['filter']}>
          <span>Filter</span>
          <input type="search" value={words} onChange={(event) => setWords(event.target.value)} />
        </label>
      </div>
      <div className={layout['buttons']}>
        {!isPrevious && (
          <Button small aria-pressed={isFollowed} onClick={() => setIsFollowed(!isFollowed)}>
            {isFollowed ? 'Stop following' : 'Follow'}
          </Button>
        )}
        <Button
          small
          off={log.rows.length === 0 ? 'There is no line.' : undefined}
          onClick={() => saveText(`${pod}-${chosen}.log`, toFile(log, log.isCut))}
        >
          Download
        </Button>
        <Check label="Before the last start" isOn={isPrevious} onChange={setIsPrevious} />
      </div>
      <Notes
        log={log}
        shown={rows.length}
        isFiltered={words.trim() !== ''}
        isFollowed={isFollowed && !isPrevious}
        onRetry={again}
      />
      {log.state === 'asked' ? (
        <Loading rows={8} what="the log" />
      ) : (
        rows.length > 0 && <Lines rows={rows} dropped={log.dropped} />
      )}
      {log.state === 'read' && log.error === undefined && rows.length === 0 && (
        <Empty>{log.rows.length === 0 ? 'The container has written nothing.' : `No line has "${words.trim()}".`}</Empty>
      )}
      <Command text={`${sh`windlass gitops app logs ${runtime} ${name} ${`${namespace}/${pod}`}`}${options}`} />
    </section>
  )
}

interface NotesProps {
  readonly log: ShownLog
  readonly shown: number
  readonly isFiltered: boolean
  readonly isFollowed: boolean
  readonly onRetry: () => void
}

/** Says how much of the log is shown, and what is wrong with it. */
function Notes({ log, shown, isFiltered, isFollowed, onRetry }: NotesProps): ReactElement | null {
  const { rows, dropped, isCut, isEmpty, away, error, state } = log
  if (error !== undefined) return <Problem error={error} onRetry={onRetry} />
  if (state === 'asked') return null
  const count = isFiltered ? `${shown} of ${plural(rows.length, 'line')}` : plural(rows.length, 'line')
  const earlier = dropped > 0 ? ' Earlier ones are not kept here.' : isCut ? ' The log has earlier ones.' : ''
  return (
    <div className={layout['tight']}>
      <p className={layout['note']}>
        {count}
        {isFollowed ? ', followed' : ''}.{earlier}
      </p>
      {isEmpty && away === undefined && (
        <p className={layout['warning']} role="status">
          The log has no lines any more: the pod is gone, or its container was started again and has written nothing.
        </p>
      )}
      {away !== undefined && (
        <p className={layout['warning']} role="status">
          No new lines come at the moment. {toProblem(away).message} The log goes on after its last line as soon as the runtime
          answers.
        </p>
      )}
    </div>
  )
}

/** The lines. The view stays at the end while it is there, and at the same lines otherwise. */
function Lines({ rows, dropped }: { readonly rows: readonly LogRow[]; readonly dropped: number }): ReactElement {
  const view = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const droppedBefore = useRef(dropped)
  useLayoutEffect(() => {
    const element = view.current
    if (element === null) return
    if (isAtEnd.current) element.scrollTop = element.scrollHeight
    else element.scrollTop -= (dropped - droppedBefore.current) * ROW_PX
    droppedBefore.current = dropped
  }, [rows, dropped])
  useEffect(() => {
    const element = view.current
    if (element === null) return undefined
    const look = (): void => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX
    }
    element.addEventListener('scroll', look, { passive: true })
    return () => element.removeEventListener('scroll', look)
  }, [])
  return (
    <div ref={view} className={styles['lines']} role="region" aria-label="Lines" tabIndex={0}>
      <WindowedList
        label="Lines of the log"
        rows={rows}
        rowHeight={ROW_PX}
        keyOf={({ number }) => number}
        render={(row) => <Line row={row} />}
      />
    </div>
  )
}

function Line({ row: { time, text, gap, line } }: { readonly row: LogRow }): ReactElement {
  if (gap !== undefined) return <div className={styles['gap']}>{GAPS[gap]}</div>
  return (
    <div className={styles['line']}>
      <time dateTime={line?.at} title={line?.at}>
        {time}
      </time>
      <bdi>{text}</bdi>
      {line?.isCut === true && <span className={styles['cut']}>… the line is longer</span>}
    </div>
  )
}
