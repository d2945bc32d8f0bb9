/** The rows of the list of builds, with the keys that move in it and select. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState, type FocusEvent, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { preloadBuild } from '../build/late-parts.ts'
import { useLooks } from '../looks/looks.ts'
import { useMedia } from '../looks/media.ts'
import { Button } from '../parts/button.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { WindowedList } from '../parts/windowed-list.tsx'
import { queries } from '../server/queries.ts'
import { useLiveness } from '../server/stream.ts'
import { useListCursor } from '../shell/list-cursor.ts'
import { useShortcuts } from '../shell/shortcuts.ts'
import { isUnfiltered, mayMatch, type BuildFilter } from '../url/build-filter.ts'
import { paths } from '../url/paths.ts'
import { BuildRow } from './build-row.tsx'
import { BulkBar } from './bulk-bar.tsx'
import styles from './builds.module.css'
import { FirstSteps } from './first-steps.tsx'
import { useFreshBuilds } from './fresh.ts'
import { NoBuilds } from './no-builds.tsx'

interface BuildListProps {
  readonly filter: BuildFilter
  readonly onChange: (filter: BuildFilter) => void
  /** Called when the pointer or the focus enters or leaves the list. */
  readonly onHold: (isHeld: boolean) => void
}

/** Height of a row in a wide window; the styles say the same. Pixels. */
const ROW = { comfortable: 56, compact: 44 } as const
/** Distance from the top of the page up to which new builds may move the rows. Pixels. */
const TOP_PX = 40

export function BuildList({ filter, onChange, onHold }: BuildListProps): ReactElement {
  const [, go] = useLocation()
  // While changes arrive, a window that gets the focus reads nothing again: new builds would move the rows.
  const isLive = useLiveness() === 'live'
  const list = useInfiniteQuery({ ...queries.builds(filter), refetchOnWindowFocus: !isLive })
  const { density } = useLooks()
  const isNarrow = useMedia('(max-width: 900px)')
  const frame = useRef<HTMLDivElement>(null)
  const [isHeld, setIsHeld] = useState(false)
  const builds = useMemo(() => (list.data?.pages ?? []).flatMap(({ items }) => items), [list.data])
  async function refresh(): Promise<void> {
    // A first reading goes on, and can have begun before the builds were there.
    if (list.data === undefined) await list.refetch()
    await list.refetch()
  }
  const fresh = useFreshBuilds({
    builds,
    filter,
    hasOlder: list.hasNextPage,
    isHeld: () => isHeld || scrollY > TOP_PX,
    refresh,
  })
  const { selected, toggle, selectNothing } = useSelection(builds)
  const { index, move, onFocus } = useListCursor(
    builds.map(({ id }) => id),
    frame,
    () => list.hasNextPage && void list.fetchNextPage(),
  )
  const current = builds[index]
  const hasBuilds = builds.length > 0
  useEffect(() => (hasBuilds ? preloadBuild() : undefined), [hasBuilds])

  useEffect(() => {
    onHold(isHeld)
    return () => onHold(false)
  }, [isHeld, onHold])
  const hold = (): void => setIsHeld(frame.current?.matches(':hover, :focus-within') === true)
  useShortcuts('List', [
    { keys: 'j', does: 'Next build', run: () => move(1) },
    { keys: 'k', does: 'Previous build', run: () => move(-1) },
    { keys: 'Enter', does: 'Open the build', run: () => current && go(paths.build(current.id)) },
    { keys: 'Ctrl+Enter', does: 'Open the build in a tab', run: () => current && window.open(paths.build(current.id)) },
    { keys: 'x', does: 'Select the build', run: () => current && toggle(current.id, false) },
    { keys: 'Shift+x', does: 'Select up to the build', run: () => current && toggle(current.id, true) },
    { keys: 'r', does: 'Show new builds', run: fresh.show },
  ])
  if (list.isPending) return <Loading rows={12} what="builds" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  if (builds.length === 0) return isUnfiltered(filter) ? <FirstSteps isEmpty /> : <NoBuilds filter={filter} onChange={onChange} />
  return (
    <div className={styles['list']}>
      <BulkBar builds={builds.filter(({ id }) => selected.has(id))} onDone={selectNothing} />
      <div className={styles['fresh']} role="status">
        {fresh.count > 0 && (
          <Button small tone="primary" onClick={fresh.show}>
            {fresh.count === 1 ? 'Show 1 new build' : `Show ${fresh.count} new builds`}
          </Button>
        )}
      </div>
      <div
        ref={frame}
        className={styles['rows']}
        onPointerEnter={hold}
        onPointerLeave={hold}
        onFocus={(event: FocusEvent) => {
          hold()
          onFocus(event)
        }}
        onBlur={() => setTimeout(hold)}
      >
        <WindowedList
          label="Builds"
          rows={builds}
          rowHeight={isNarrow ? 'auto' : ROW[density]}
          keyOf={({ id }) => id}
          reveal={index < 0 ? undefined : index}
          render={(build, at) => (
            <BuildRow
              build={build}
              isCurrent={at === index}
              isSelected={selected.has(build.id)}
              isDimmed={!mayMatch(build, filter)}
              onSelect={(isRange) => toggle(build.id, isRange)}
            />
          )}
        />
      </div>
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older builds
        </Button>
      )}
      {isUnfiltered(filter) && !list.hasNextPage && <FirstSteps />}
    </div>
  )
}

interface Selection {
  readonly selected: ReadonlySet<string>
  /** Selects a build or no longer selects it. A range reaches from the last toggled build to this one. */
  readonly toggle: (id: string, isRange: boolean) => void
  readonly selectNothing: () => void
}

function useSelection(builds: readonly { readonly id: string }[]): Selection {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const anchor = useRef<string>(undefined)
  const toggle = (id: string, isRange: boolean): void => {
    const ids = builds.map((build) => build.id)
    const [from, to] = [ids.indexOf(anchor.current ?? id), ids.indexOf(id)].toSorted((a, b) => a - b)
    if (isRange && from !== undefined && to !== undefined && from >= 0)
      setSelected(new Set([...selected, ...ids.slice(from, to + 1)]))
    else setSelected(selected.symmetricDifference(new Set([id])))
    anchor.current = id
  }
  return { selected, toggle, selectNothing: () => setSelected(new Set()) }
}
