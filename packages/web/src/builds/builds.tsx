/** The list of builds: what runs, what waits and why, what failed. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo, useRef, useState, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import type { Build } from '@windlass/protocol'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { WindowedList } from '../parts/windowed-list.tsx'
import { queries } from '../server/queries.ts'
import { useTopics } from '../server/stream.ts'
import { Page } from '../shell/page.tsx'
import { useShortcuts } from '../shell/shortcuts.ts'
import { isUnfiltered, mayMatch, type BuildFilter } from '../url/build-filter.ts'
import { paths } from '../url/paths.ts'
import { useBuildFilter } from '../url/search.ts'
import { BuildRow } from './build-row.tsx'
import { BulkBar } from './bulk-bar.tsx'
import styles from './builds.module.css'
import { FilterBar } from './filter-bar.tsx'
import { FirstSteps } from './first-steps.tsx'
import { Views } from './views.tsx'
import { WaitingBox } from './waiting-box.tsx'

export function Builds(): ReactElement {
  const [filter, setFilter] = useBuildFilter()
  return (
    <Page title="Builds">
      <FilterBar filter={filter} onChange={setFilter} />
      <Views filter={filter} onChange={setFilter} />
      <WaitingBox />
      <BuildList key={JSON.stringify(filter)} filter={filter} onChange={setFilter} />
    </Page>
  )
}

interface ListProps {
  readonly filter: BuildFilter
  readonly onChange: (filter: BuildFilter) => void
}

/** Height of a row in wide and narrow windows; the styles say the same. Pixels. */
const ROW = { wide: 56, narrow: 124 } as const
const NARROW_WIDTH = 900

function BuildList({ filter, onChange }: ListProps): ReactElement {
  const [, go] = useLocation()
  const list = useInfiniteQuery(queries.builds(filter))
  const frame = useRef<HTMLDivElement>(null)
  const builds = useMemo(() => (list.data?.pages ?? []).flatMap(({ items }) => items), [list.data])
  const fresh = useFreshBuilds({ builds, filter, frame: frame.current, refresh: () => void list.refetch() })
  const [cursor, setCursor] = useState<number>()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const toggle = (id: string): void => setSelected(selected.symmetricDifference(new Set([id])))
  const move = (by: number): void => setCursor(Math.min(Math.max((cursor ?? -1) + by, 0), builds.length - 1))
  const current = cursor === undefined ? undefined : builds[cursor]
  useShortcuts('List', [
    { keys: 'j', does: 'Next build', run: () => move(1) },
    { keys: 'k', does: 'Previous build', run: () => move(-1) },
    { keys: 'Enter', does: 'Open the build', run: () => current && go(paths.build(current.id)) },
    { keys: 'x', does: 'Select the build', run: () => current && toggle(current.id) },
    { keys: 'r', does: 'Show new builds', run: fresh.show },
  ])
  if (list.isPending) return <Loading rows={12} what="builds" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  if (builds.length === 0) return <NoBuilds filter={filter} onChange={onChange} />
  return (
    <div ref={frame} className={styles['list']}>
      <BulkBar builds={builds.filter(({ id }) => selected.has(id))} onDone={() => setSelected(new Set())} />
      {fresh.count > 0 && (
        <Button small onClick={fresh.show}>
          {fresh.count === 1 ? 'Show 1 new build' : `Show ${fresh.count} new builds`}
        </Button>
      )}
      <WindowedList
        label="Builds"
        rows={builds}
        rowHeight={innerWidth > NARROW_WIDTH ? ROW.wide : ROW.narrow}
        keyOf={({ id }) => id}
        reveal={cursor}
        render={(build, index) => (
          <BuildRow
            build={build}
            isCurrent={index === cursor}
            isSelected={selected.has(build.id)}
            isDimmed={!mayMatch(build, filter)}
            onSelect={() => toggle(build.id)}
          />
        )}
      />
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older builds
        </Button>
      )}
    </div>
  )
}

interface FreshOptions {
  readonly builds: readonly Build[]
  readonly filter: BuildFilter
  readonly frame: HTMLElement | null
  readonly refresh: () => void
}

/** Distance from the top of the page up to which new builds may move the rows. Pixels. */
const TOP_PX = 40

/** Counts builds that are not in the list yet. They come in by themselves only while nobody could miss a row that moves. */
function useFreshBuilds({ builds, filter, frame, refresh }: FreshOptions): { readonly count: number; readonly show: () => void } {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const show = (): void => {
    setIds(new Set())
    refresh()
  }
  useTopics(['account'], ({ event, data }) => {
    if (event !== 'changed' || data.change.noun !== 'build') return
    const { item } = data.change
    const isNewer = item.number > (builds[0]?.number ?? 0)
    if (!isNewer || ids.has(item.id) || !mayMatch(item, filter)) return
    const isStill = scrollY > TOP_PX || frame?.matches(':hover, :focus-within') === true
    if (isStill) setIds(new Set([...ids, item.id]))
    else show()
  })
  const known = new Set(builds.map(({ id }) => id))
  return { count: [...ids].filter((id) => !known.has(id)).length, show }
}

function NoBuilds({ filter, onChange }: ListProps): ReactElement {
  const all = useQuery({ ...queries.counts('status', {}), enabled: !isUnfiltered(filter) })
  if (isUnfiltered(filter)) return <FirstSteps />
  const count = all.data?.items.reduce((sum, item) => sum + item.count, 0)
  return (
    <Empty action={<Button onClick={() => onChange({})}>Drop all filters</Button>}>
      No builds match.{count !== undefined && ` Without filters there are ${count}.`}
    </Empty>
  )
}
