/** The filters of the inbox: the outcome as buttons, everything else as chips. */
import { useQuery } from '@tanstack/react-query'
import { NO_BUILD_REASONS } from '@windlass/protocol'
import { ListFilter } from 'lucide-react'
import { useRef, useState, type FormEvent, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Menu } from '../parts/floating/menu.tsx'
import { queries } from '../server/queries.ts'
import { useShortcuts } from '../shell/shortcuts.ts'
import type { DeliveryFilter, Outcome, TextFilter } from '../url/delivery-filter.ts'
import filters from '../parts/filters.module.css'
import { FilterChip, StateButtons, type StateChoice } from '../parts/filters.tsx'
import styles from './deliveries.module.css'
import { deliveryQueries } from './queries.ts'

interface FilterBarProps {
  readonly filter: DeliveryFilter
  readonly onChange: (filter: DeliveryFilter) => void
}

const OUTCOMES: readonly StateChoice<Outcome | undefined>[] = [
  { value: undefined, label: 'All' },
  { value: 'built', label: 'Built' },
  { value: 'nothing', label: 'No build' },
  { value: 'refused', label: 'Refused' },
  { value: 'failed', label: 'Failed' },
  { value: 'received', label: 'In progress' },
]

const CHIPS: readonly TextFilter[] = ['repo', 'branch', 'webhook', 'pipeline', 'reason']

export function DeliveryFilterBar({ filter, onChange }: FilterBarProps): ReactElement {
  const { outcome, ...rest } = filter
  const drop = (name: TextFilter): void => {
    const { [name]: _old, ...others } = filter
    onChange(others)
  }
  return (
    <div className={filters['filters']}>
      <StateButtons
        label="Outcome"
        choices={OUTCOMES}
        current={outcome}
        onChoose={(value) => onChange(value === undefined ? rest : { ...rest, outcome: value })}
      />
      {CHIPS.filter((name) => filter[name] !== undefined).map((name) => (
        <FilterChip key={name} name={name} value={filter[name] ?? ''} onDrop={() => drop(name)} />
      ))}
      <AddFilter filter={filter} onChange={onChange} />
      <RepoField key={filter.repo} filter={filter} onChange={onChange} />
    </div>
  )
}

const OFFERED = [
  ['webhook', 'Webhook'],
  ['pipeline', 'Pipeline'],
  ['reason', 'Why no build'],
] as const

function AddFilter({ filter, onChange }: FilterBarProps): ReactElement {
  const [offered, setOffered] = useState<(typeof OFFERED)[number][0]>('reason')
  const webhooks = useQuery({ ...deliveryQueries.webhooks(), enabled: offered === 'webhook' })
  const pipelines = useQuery({ ...queries.pipelines(), enabled: offered === 'pipeline' })
  const names = (list: { readonly items: readonly { readonly name: string }[] } | undefined): string[] =>
    (list?.items ?? []).map(({ name }) => name)
  const values =
    offered === 'reason'
      ? Object.keys(NO_BUILD_REASONS)
      : offered === 'webhook'
        ? names(webhooks.data)
        : names(pipelines.data).slice(0, 50)
  return (
    <Menu
      button={
        <Button small tone="quiet" icon={<ListFilter size={14} aria-hidden />}>
          Filter
        </Button>
      }
      groups={[
        OFFERED.map(([name, word]) => ({
          label: word,
          isMarked: name === offered,
          keepsOpen: true,
          onChoose: () => setOffered(name),
        })),
        values.map((value) => ({
          label: value,
          isMarked: filter[offered] === value,
          onChoose: () => onChange({ ...filter, [offered]: value }),
        })),
      ]}
    />
  )
}

/** Filters by repository, and with `repository@branch` also by branch, once Enter is pressed. */
function RepoField({ filter, onChange }: FilterBarProps): ReactElement {
  const field = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState(filter.repo ?? '')
  useShortcuts('Filters', [{ keys: '/', does: 'Filter by repository', run: () => field.current?.focus() }])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const [repo = '', branch] = typed.trim().split('@')
    const { repo: _repo, ...rest } = filter
    onChange({ ...rest, ...(repo !== '' && { repo }), ...(branch !== undefined && branch !== '' && { branch }) })
  }
  return (
    <form className={styles['search']} role="search" onSubmit={submit}>
      <input
        ref={field}
        type="search"
        aria-label="Repository, or repository@branch"
        placeholder="owner/name or owner/name@branch"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </form>
  )
}
