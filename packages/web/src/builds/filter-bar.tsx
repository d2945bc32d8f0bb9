/** The filters of the list as chips, and the text that is searched. */
import { useQuery } from '@tanstack/react-query'
import { ListFilter, X } from 'lucide-react'
import { useEffect, useRef, useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Menu } from '../parts/menu.tsx'
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

export function FilterBar({ filter, onChange }: FilterBarProps): ReactElement {
  const { status: _status, ...rest } = filter
  const { data: counts } = useQuery(queries.counts('status', rest))
  const countOf = (status: readonly string[]): number | undefined =>
    counts?.items.filter(({ value }) => status.includes(value)).reduce((sum, { count }) => sum + count, 0)
  const chosen = (filter.status ?? []).join()
  return (
    <div className={styles['filters']}>
      <div className={styles['states']} role="group" aria-label="State">
        {STATES.map(({ name, status }) => (
          <button
            key={name}
            type="button"
            aria-pressed={chosen === status.join()}
            onClick={() => onChange(status.length === 0 ? rest : { ...rest, status })}
          >
            {name}
            {status.length > 0 && <span>{countOf(status) ?? ''}</span>}
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
  const chips = REPEATED.filter((name) => name !== 'status').flatMap((name) =>
    (filter[name] ?? []).map((value) => ({ name, value })),
  )
  return (
    <>
      {chips.map(({ name, value }) => (
        <button
          key={`${name} ${value}`}
          type="button"
          className={styles['chip']}
          aria-label={`Drop the filter ${name}: ${value}`}
          onClick={() => onChange(toggleFilter(filter, name, value))}
        >
          <span>{name}:</span>
          <bdi className="cut">{value}</bdi>
          <X size={14} aria-hidden />
        </button>
      ))}
    </>
  )
}

function AddFilter({ filter, onChange }: FilterBarProps): ReactElement {
  const [offered, setOffered] = useState(OFFERED[0])
  const values = useQuery({ ...queries.counts(offered?.by ?? 'pipeline', filter), enabled: offered !== undefined })
  return (
    <Menu
      button={
        <Button small tone="quiet" icon={<ListFilter size={14} aria-hidden />}>
          Filter
        </Button>
      }
      groups={[
        OFFERED.map((one) => ({ label: one.word, isMarked: one === offered, keepsOpen: true, onChoose: () => setOffered(one) })),
        (values.data?.items ?? []).slice(0, 20).map(({ value, count }) => ({
          label: value,
          keys: String(count),
          isMarked: offered !== undefined && filter[offered.name]?.includes(value) === true,
          onChoose: () => offered !== undefined && onChange(toggleFilter(filter, offered.name, value)),
        })),
      ]}
    />
  )
}

const TYPED_MS = 250

function SearchText({ filter, onChange }: FilterBarProps): ReactElement {
  const field = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState(filter.q ?? '')
  useShortcuts('Filters', [{ keys: '/', does: 'Search in commits, messages and numbers', run: () => field.current?.focus() }])
  useEffect(() => {
    const text = typed.trim()
    if (text === (filter.q ?? '')) return undefined
    const timer = setTimeout(() => {
      const { q: _old, ...rest } = filter
      onChange(text === '' ? rest : { ...rest, q: text })
    }, TYPED_MS)
    return () => clearTimeout(timer)
  }, [typed, filter, onChange])
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
