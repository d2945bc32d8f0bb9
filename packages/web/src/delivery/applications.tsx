/** The applications of all GitOps runtimes: their health and whether they are what Git says. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { APPLICATION_HEALTHS, APPLICATION_SORTS, type ApplicationSort } from '@windlass/protocol'
import { useRef, useState, type FormEvent, type ReactElement } from 'react'
import { useLocation, useSearch } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import filters from '../parts/filters.module.css'
import { FilterChip, StateButtons } from '../parts/filters.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { Page } from '../shell/page.tsx'
import { useShortcuts } from '../shell/shortcuts.ts'
import { paths } from '../url/paths.ts'
import { DeliveryTabs } from './delivery-tabs.tsx'
import { ApplicationTable } from './application-table.tsx'
import styles from './delivery.module.css'
import { NAME_FILTERS, readFilter, writeFilter, type ApplicationFilter, type FilterProps } from './filter.ts'
import { deliveryQueries } from './queries.ts'
import { RuntimeLines } from './runtime-lines.tsx'
import { lookOfHealth } from './states.ts'

export function Applications(): ReactElement {
  const filter = readFilter(useSearch())
  const [, go] = useLocation()
  const change = (next: ApplicationFilter): void => go(paths.applications() + writeFilter(next))
  return (
    <Page title="Applications">
      <DeliveryTabs current="applications" />
      <FilterBar filter={filter} onChange={change} />
      <RuntimeLines />
      <ApplicationList filter={filter} onChange={change} />
    </Page>
  )
}

const HEALTHS = [undefined, ...APPLICATION_HEALTHS].map((value) => ({
  value,
  label: value === undefined ? 'All' : lookOfHealth(value).word,
}))

function FilterBar({ filter, onChange }: FilterProps): ReactElement {
  const { health: current, ...rest } = filter
  const { sync, ...synced } = filter
  return (
    <div className={filters['filters']}>
      <StateButtons
        label="Health"
        choices={HEALTHS}
        current={current}
        onChoose={(health) => onChange(health === undefined ? rest : { ...rest, health })}
      />
      <div className={filters['states']} role="group" aria-label="Sync">
        <button
          type="button"
          aria-pressed={sync === 'out-of-sync'}
          onClick={() => onChange(sync === 'out-of-sync' ? synced : { ...synced, sync: 'out-of-sync' })}
        >
          Out of sync
        </button>
      </div>
      {NAME_FILTERS.map((name) => {
        const { [name]: value, ...others } = filter
        return value !== undefined && <FilterChip key={name} name={name} value={value} onDrop={() => onChange(others)} />
      })}
      <SortField filter={filter} onChange={onChange} />
      <NameField key={filter.q} filter={filter} onChange={onChange} />
    </div>
  )
}

const SORT_WORDS = {
  name: 'By name',
  health: 'Worst first',
  changed: 'Changed last first',
} as const satisfies Readonly<Record<ApplicationSort, string>>

function SortField({ filter, onChange }: FilterProps): ReactElement {
  const { sort: _, ...rest } = filter
  const choose = (value: string): void => {
    const sort = APPLICATION_SORTS.find((one) => one === value)
    onChange(sort === undefined || sort === 'name' ? rest : { ...rest, sort })
  }
  return (
    <select
      className={styles['sort']}
      aria-label="Order"
      value={filter.sort ?? 'name'}
      onChange={(event) => choose(event.target.value)}
    >
      {APPLICATION_SORTS.map((sort) => (
        <option key={sort} value={sort}>
          {SORT_WORDS[sort]}
        </option>
      ))}
    </select>
  )
}

/** Filters by a part of the name once Enter is pressed. */
function NameField({ filter, onChange }: FilterProps): ReactElement {
  const field = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState(filter.q ?? '')
  useShortcuts('Filters', [{ keys: '/', does: 'Filter by name', run: () => field.current?.focus() }])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const { q: _, ...rest } = filter
    onChange({ ...rest, ...(typed.trim() !== '' && { q: typed.trim() }) })
  }
  return (
    <form className={styles['search']} role="search" onSubmit={submit}>
      <input
        ref={field}
        type="search"
        aria-label="Part of the name"
        placeholder="Part of the name"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </form>
  )
}

function ApplicationList({ filter, onChange }: FilterProps): ReactElement {
  const list = useInfiniteQuery(deliveryQueries.applications(filter))
  const runtimes = useQuery(deliveryQueries.tunnels())
  if (list.isPending || runtimes.isPending) return <Loading rows={5} what="applications" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const items = list.data.pages.flatMap((page) => page.items)
  const { sort: _, ...narrowing } = filter
  if (items.length === 0 && Object.keys(narrowing).length === 0)
    return (runtimes.data?.length ?? 0) > 0 ? <Report /> : <Connect />
  return (
    <div className={layout['stack']}>
      {items.length === 0 ? (
        <Empty action={<Button onClick={() => onChange({})}>Show all applications</Button>}>No applications match.</Empty>
      ) : (
        <ApplicationTable items={items} filter={filter} onChange={onChange} />
      )}
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show more applications
        </Button>
      )}
      <Command text={commandOf(filter)} />
    </div>
  )
}

/** Returns the command that lists the same applications. It always sorts by name. */
function commandOf({ health, sync, runtime, project, q }: ApplicationFilter): string {
  const flags = Object.entries({ status: health, sync, runtime, project, query: q }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  return sh`windlass get applications ${flags}`
}

function Report(): ReactElement {
  return (
    <Empty
      action={
        <div className={layout['tight']}>
          <p>
            The reporter of a runtime, which its chart installs, reports the applications of Argo CD. Without the chart it starts
            with:
          </p>
          <Command text={`windlass gitops report --server-url ${location.origin} --token-file token --namespaces argocd`} />
          <p>The same list on the command line:</p>
          <Command text="windlass get applications" />
        </div>
      }
    >
      No GitOps runtime has reported an application yet.
    </Empty>
  )
}

function Connect(): ReactElement {
  return (
    <Empty
      action={
        <div className={layout['tight']}>
          <p>Install a runtime in a cluster with Argo CD:</p>
          <Command text="windlass gitops install prod" />
          <p>The same list on the command line:</p>
          <Command text="windlass get applications" />
        </div>
      }
    >
      There are no GitOps runtimes.
    </Empty>
  )
}
