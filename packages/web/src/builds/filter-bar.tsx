/** The filters of the list as chips, and the text that is searched. */
import { useQuery } from '@tanstack/react-query'
import { ListFilter } from 'lucide-react'
import { useRef, useState, type ReactElement } from 'react'
import { now, useNow } from '../looks/clock.ts'
import { formatDate, formatHour } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import filters from '../parts/filters.module.css'
import { FilterChip } from '../parts/filters.tsx'
import { Menu } from '../parts/floating/menu.tsx'
import { useTyped } from '../parts/forms/use-typed.ts'
import { queries, type CountedBy } from '../server/queries.ts'
import { useShortcuts } from '../shell/shortcuts.ts'
import { REPEATED, toggleFilter, type BuildFilter, type RepeatedFilter } from '../url/build-filter.ts'
import styles from './builds.module.css'

interface FilterBarProps {
  readonly filter: BuildFilter
  readonly onChange: (filter: BuildFilter) => void
}

/** Groups of states that have a button of their own. */
const STATES: readonly { readonly name: string; readonly status: readonly string[] }[] = [
  { name: 'All', status: [] },
  { name: 'Running', status: ['elected', 'running', 'terminating'] },
  { name: 'Waiting', status: ['pending', 'delayed'] },
  { name: 'Needs approval', status: ['pending-approval'] },
  { name: 'Failed', status: ['error'] },
]

/** Filters that are offered with the values that builds have. */
const OFFERED: readonly { readonly name: RepeatedFilter; readonly by: CountedBy; readonly word: string }[] = [
  { name: 'pipeline', by: 'pipeline', word: 'Pipeline' },
  { name: 'branch', by: 'branch', word: 'Branch' },
  { name: 'project', by: 'project', word: 'Project' },
  { name: 'by', by: 'initiator', word: 'Started by' },
  { name: 'runtime', by: 'runtime', word: 'Runtime' },
  { name: 'reason', by: 'reason', word: 'Reason' },
  { name: 'trigger', by: 'trigger', word: 'Trigger' },
]

/** Periods that the list can be limited to. */
const PERIODS: readonly { readonly label: string; readonly ms?: number }[] = [
  { label: 'Last 24 hours', ms: 86_400_000 },
  { label: 'Last 7 days', ms: 7 * 86_400_000 },
  { label: 'Last 30 days', ms: 30 * 86_400_000 },
  { label: 'Any time' },
]
const MINUTE_MS = 60_000

/** Returns the start of a period until now, to the minute. Epoch milliseconds. */
function startOf(ms: number): number {
  return Math.floor((now() - ms) / MINUTE_MS) * MINUTE_MS
}

/** Returns a count with a `+` if there may be more. */
function formatCount(count: number, isExact: boolean): string {
  return `${count.toLocaleString('en-GB')}${isExact ? '' : '+'}`
}

export function FilterBar({ filter, onChange }: FilterBarProps): ReactElement {
  const { status: _status, ...rest } = filter
  const { data: counts } = useQuery(queries.counts('status', rest))
  const countOf = (status: readonly string[]): string => {
    const found = counts?.items.filter(({ value }) => status.includes(value)).reduce((sum, { count }) => sum + count, 0)
    return found === undefined ? '' : formatCount(found, counts?.isExact ?? true)
  }
  const chosen = (filter.status ?? []).join()
  return (
    <div className={filters['filters']}>
      <div className={filters['states']} role="group" aria-label="State">
        {STATES.map(({ name, status }) => (
          <button
            key={name}
            type="button"
            aria-pressed={chosen === status.join()}
            onClick={() => onChange(status.length === 0 ? rest : { ...rest, status })}
          >
            {name}
            {status.length > 0 && <span>{countOf(status)}</span>}
          </button>
        ))}
      </div>
      <Chips filter={filter} onChange={onChange} />
      <AddFilter filter={filter} onChange={onChange} />
      <SearchText filter={filter} onChange={onChange} />
    </div>
  )
}

function Chips({ filter, onChange }: FilterBarProps): ReactElement {
  const shownAt = useNow()
  const chips = REPEATED.filter((name) => name !== 'status').flatMap((name) =>
    (filter[name] ?? []).map((value) => ({
      name: name as string,
      value,
      dropped: toggleFilter(filter, name, value),
    })),
  )
  for (const name of ['from', 'to'] as const) {
    const { [name]: time, ...dropped } = filter
    if (time !== undefined)
      chips.push({
        name: name === 'from' ? 'since' : 'until',
        value: `${formatDate(time, shownAt)} ${formatHour(time)}`,
        dropped,
      })
  }
  return (
    <>
      {chips.map(({ name, value, dropped }) => (
        <FilterChip key={`${name} ${value}`} name={name} value={value} onDrop={() => onChange(dropped)} />
      ))}
    </>
  )
}

function AddFilter({ filter, onChange }: FilterBarProps): ReactElement {
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setIsOpen] = useState(false)
  const [offered, setOffered] = useState(OFFERED[0])
  const { from: _from, to: _to, ...timeless } = filter
  // A second value of the same filter widens the list, so the values are not limited to those that are chosen.
  const { [offered?.name ?? 'pipeline']: _chosen, ...others } = filter
  const values = useQuery({ ...queries.counts(offered?.by ?? 'pipeline', others), enabled: isOpen && offered !== undefined })
  useShortcuts('Filters', [{ keys: 'f', does: 'Add a filter', run: () => button.current?.click() }])
  return (
    <Menu
      onOpenChange={setIsOpen}
      button={
        <Button ref={button} small tone="quiet" icon={<ListFilter size={14} aria-hidden />}>
          Filter
        </Button>
      }
      groups={[
        OFFERED.map((one) => ({ label: one.word, isMarked: one === offered, keepsOpen: true, onChoose: () => setOffered(one) })),
        (values.data?.items ?? []).slice(0, 20).map(({ value, count }) => ({
          label: value,
          keys: formatCount(count, values.data?.isExact ?? true),
          isMarked: offered !== undefined && filter[offered.name]?.includes(value) === true,
          onChoose: () => offered !== undefined && onChange(toggleFilter(filter, offered.name, value)),
        })),
        PERIODS.map(({ label, ms }) => ({
          label,
          onChoose: () => onChange(ms === undefined ? timeless : { ...timeless, from: startOf(ms) }),
        })),
      ]}
    />
  )
}

const TYPED_MS = 250

function SearchText({ filter, onChange }: FilterBarProps): ReactElement {
  const field = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useTyped(filter.q ?? '', TYPED_MS, (text) => {
    const { q: _old, ...rest } = filter
    onChange(text === '' ? rest : { ...rest, q: text })
  })
  useShortcuts('Filters', [{ keys: '/', does: 'Search in commits, messages and numbers', run: () => field.current?.focus() }])
  return (
    <input
      ref={field}
      type="search"
      className={styles['search']}
      aria-label="Search builds"
      placeholder="Commit, message, #number"
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  )
}
