/** The bar above a log: what it is, search, settings, and how to take it away. */
import { ChevronDown, ChevronUp, Ellipsis } from 'lucide-react'
import { useEffect, useEffectEvent, useState, type ReactElement, type RefObject } from 'react'
import { Button, IconButton } from '../parts/button.tsx'
import { download } from '../parts/download.ts'
import { Menu } from '../parts/floating/menu.tsx'
import { toProblem } from '../parts/problem.tsx'
import { formatCount, TIMES, type Times } from './rows/format.ts'
import type { LogName, LogState } from './lines/log-state.ts'
import styles from './log.module.css'
import { MAX_FOUND, type Wanted } from './lines/search.ts'
import type { Settings } from './view.ts'

export interface BarProps {
  readonly name: LogName
  readonly state: LogState
  readonly settings: Settings
  readonly searchField: RefObject<HTMLInputElement | null>
  readonly lineField: RefObject<HTMLInputElement | null>
  readonly onChange: (changed: Partial<Settings>) => void
  readonly onSearch: (wanted: Wanted) => void
  readonly onMatch: (step: 1 | -1) => void
  /** Shows a line, from 0. */
  readonly onLine: (line: number) => void
  readonly onProblem: (step: 1 | -1) => void
  /** True while only new lines are shown. */
  readonly isOnlyNew: boolean
  /** Number of lines that are new; undefined until they are known. */
  readonly newCount: number | undefined
  readonly onOnlyNew: () => void
  readonly onFollow: () => void
  readonly onFold: () => void
  readonly onCopy: () => void
}

const TIMES_SHOWN: Readonly<Record<Times, string>> = {
  none: 'No times',
  clock: 'Time of day',
  start: 'Since the start',
  step: 'Since the line before',
}

export function Bar(props: BarProps): ReactElement {
  const { state, settings, onChange } = props
  return (
    <div className={styles['bar']}>
      <span className={styles['name']}>{titleOf(props.name.stream)}</span>
      <span className={styles['facts']}>
        {formatCount(state.total)} {state.total === 1 ? 'line' : 'lines'}
      </span>
      <SearchField {...props} />
      {state.problems.length > 0 && (
        <Button small tone="quiet" onClick={() => props.onProblem(1)}>
          <span className={styles['problemMark']} aria-hidden />
          {state.problems.length === 1 ? 'Problem' : `Problems ${formatCount(state.problems.length)}`}
        </Button>
      )}
      <Button small tone="quiet" aria-pressed={props.isOnlyNew} onClick={props.onOnlyNew}>
        {props.newCount === undefined ? 'Only new' : `Only new ${formatCount(props.newCount)}`}
      </Button>
      <LineField lineField={props.lineField} total={state.total} onLine={props.onLine} />
      <span className={styles['grow']} />
      {state.isLive && (
        <Button small tone="quiet" aria-pressed={state.isFollowing} onClick={props.onFollow}>
          {state.isFollowing ? 'Following' : 'Follow'}
        </Button>
      )}
      {state.hasFolds && (
        <Button small tone="quiet" onClick={props.onFold}>
          Fold all
        </Button>
      )}
      <Button small tone="quiet" aria-pressed={settings.wraps} onClick={() => onChange({ wraps: !settings.wraps })}>
        Wrap
      </Button>
      <More {...props} />
    </div>
  )
}

/** Returns what a stream is called: the name of its step, or that of the build itself. */
function titleOf(stream: string): string {
  return stream === 'system' ? 'Build' : stream.replace(/^step\//, '')
}

/** What is needed less often: times, control characters, and ways to take the log away. */
function More({ name: { buildId, attempt, stream }, settings, onChange, onCopy }: BarProps): ReactElement {
  const address = (form: '' | 'text' | 'raw'): string => {
    const query = new URLSearchParams({ stream, attempt: String(attempt), ...(form !== '' && { download: form }) })
    return `/v1/builds/${buildId}/log?${query.toString()}`
  }
  return (
    <Menu
      button={
        <Button small tone="quiet" aria-label="More for this log">
          <Ellipsis size={16} aria-hidden />
        </Button>
      }
      groups={[
        TIMES.map((times) => ({
          label: TIMES_SHOWN[times],
          isMarked: settings.times === times,
          onChoose: () => onChange({ times }),
        })),
        [
          {
            label: 'Control characters',
            isMarked: settings.showsControls,
            onChoose: () => onChange({ showsControls: !settings.showsControls }),
          },
          { label: 'Copy lines', note: 'the marked ones', onChoose: onCopy },
        ],
        [
          { label: 'Read as plain text', onChoose: () => void open(address(''), '_blank', 'noopener') },
          { label: 'Download', note: 'without escape sequences', onChoose: () => download(address('text')) },
          { label: 'Download as written', onChoose: () => download(address('raw')) },
        ],
      ]}
    />
  )
}

/** Time without typing after which a search starts. Milliseconds. */
const TYPING_MS = 150

function SearchField({ state, searchField, onSearch, onMatch }: BarProps): ReactElement {
  const [wanted, setWanted] = useState<Wanted>({ q: '', regex: false, case: false })
  const [sought, setSought] = useState(wanted)
  // A live log is rendered again with each output, which must not begin the pause anew.
  const search = useEffectEvent(onSearch)
  useEffect(() => {
    if (sought === wanted) return undefined
    const timer = setTimeout(() => {
      setSought(wanted)
      search(wanted)
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [wanted, sought])
  return (
    <span role="search">
      <input
        ref={searchField}
        className={styles['input']}
        type="search"
        aria-label="Search the log"
        placeholder="Search"
        maxLength={1_000}
        value={wanted.q}
        onChange={({ target }) => setWanted({ ...wanted, q: target.value })}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onMatch(event.shiftKey ? -1 : 1)
          else if (event.key === 'Escape') {
            setWanted({ ...wanted, q: '' })
            event.currentTarget.blur()
          } else return
          event.preventDefault()
        }}
      />
      <Button
        small
        tone="quiet"
        aria-label="Match case"
        aria-pressed={wanted.case}
        onClick={() => setWanted({ ...wanted, case: !wanted.case })}
      >
        Aa
      </Button>
      <Button
        small
        tone="quiet"
        aria-label="Regular expression"
        aria-pressed={wanted.regex}
        onClick={() => setWanted({ ...wanted, regex: !wanted.regex })}
      >
        .*
      </Button>
      {wanted.q !== '' && (
        <>
          <span className={styles['matches']} role="status">
            {matchesText(state)}
          </span>
          <IconButton label="Match before" onClick={() => onMatch(-1)}>
            <ChevronUp size={16} aria-hidden />
          </IconButton>
          <IconButton label="Next match" onClick={() => onMatch(1)}>
            <ChevronDown size={16} aria-hidden />
          </IconButton>
        </>
      )}
    </span>
  )
}

function matchesText({ matches, current, hasMoreMatches, isSearching, searchError }: LogState): string {
  if (searchError !== undefined) return toProblem(searchError).message
  const count = hasMoreMatches ? `${formatCount(MAX_FOUND)}+` : formatCount(matches.length)
  if (matches.length === 0) return isSearching ? 'Searching' : 'No matches'
  return current === undefined ? count : `${formatCount(matches.indexOf(current) + 1)} of ${count}`
}

function LineField({
  lineField,
  total,
  onLine,
}: {
  readonly lineField: BarProps['lineField']
  readonly total: number
  readonly onLine: (line: number) => void
}): ReactElement {
  return (
    <input
      ref={lineField}
      className={`${styles['input'] ?? ''} ${styles['short'] ?? ''}`}
      aria-label="Go to line"
      placeholder="Line"
      inputMode="numeric"
      maxLength={12}
      onKeyDown={({ key, currentTarget }) => {
        const line = Number.parseInt(currentTarget.value, 10)
        if (key === 'Escape') currentTarget.blur()
        if (key !== 'Enter' || Number.isNaN(line)) return
        onLine(Math.min(Math.max(1, line), Math.max(1, total)) - 1)
        currentTarget.blur()
      }}
    />
  )
}
