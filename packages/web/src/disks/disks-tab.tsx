/** The disks of builds: what is on them, who may use them, why they were made, and their removal. */
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { formatBytes, plural } from '@windlass/plan'
import { describeDiskUse, type Disk, type DiskPage, type DiskState, type Runtime } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Link } from 'wouter'
import { useTime } from '../looks/clock.ts'
import { formatExact, formatMoment, formatSpan } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { Table } from '../parts/table.tsx'
import { Tooltip } from '../parts/floating/tooltip.tsx'
import { When } from '../parts/when.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useAway } from '../shell/away-bar.tsx'
import { useOff } from '../shell/use-off.ts'
import { paths } from '../url/paths.ts'
import styles from './disks.module.css'
import { diskQueries } from './queries.ts'

const STATES: Readonly<Record<DiskState, string>> = {
  'in-use': 'in use',
  warm: 'warm',
  removing: 'to be removed',
  lost: 'lost',
}

/** The disks of a runtime. */
export function DisksTab({ runtime: { name } }: { readonly runtime: Pick<Runtime, 'name'> }): ReactElement {
  const list = useInfiniteQuery(diskQueries.disks(name))
  const [chosen, setChosen] = useState<Disk>()
  if (list.isPending) return <Loading rows={5} what="disks" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const [first] = list.data.pages
  const items = list.data.pages.flatMap((page) => page.items)
  const listCommand = sh`windlass get disks --runtime ${name}`
  return (
    <div className={styles['stack']}>
      {first !== undefined && <Summary page={first} disks={items} isComplete={!list.hasNextPage} />}
      {items.length === 0 ? (
        <Empty action={<Command text={listCommand} />}>
          No disk is known. Agents report the disks that builds leave in a cluster; a Docker host has none.
        </Empty>
      ) : (
        <>
          <DiskTable items={items} onRemove={setChosen} />
          {list.hasNextPage && (
            <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
              Show more disks
            </Button>
          )}
          <Command text={listCommand} />
        </>
      )}
      {chosen !== undefined && <RemovalDialog disk={chosen} onClose={() => setChosen(undefined)} />}
    </div>
  )
}

interface SummaryProps {
  readonly page: DiskPage
  readonly disks: readonly Disk[]
  /** All disks are loaded, so that their sizes can be added. */
  readonly isComplete: boolean
}

function Summary({ page: { counts, problems, notReported }, disks, isComplete }: SummaryProps): ReactElement {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const parts = (Object.keys(STATES) as DiskState[]).flatMap((state) =>
    (counts[state] ?? 0) === 0 ? [] : [`${counts[state]} ${STATES[state]}`],
  )
  const size = isComplete && total > 0 ? `, ${formatBytes(disks.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0))}` : ''
  return (
    <div className={styles['summary']}>
      <p>
        {plural(total, 'disk')}
        {size}
        {parts.length === 0 ? '.' : `: ${parts.join(', ')}.`}
      </p>
      {notReported > 0 && <p>Not listed: {plural(notReported, 'disk')} that builds used longest ago.</p>}
      {problems.map(({ agent, runtime, message }) => (
        <p key={`${agent}/${runtime}`} className={styles['warning']} role="status">
          <bdi>
            Agent {agent} cannot read the disks{runtime === '' ? '' : ` of ${runtime}`}: {message}
          </bdi>
        </p>
      ))}
    </div>
  )
}

function DiskTable({
  items,
  onRemove,
}: {
  readonly items: readonly Disk[]
  readonly onRemove: (disk: Disk) => void
}): ReactElement {
  const forbidden = useOff('manage-runners')
  const off = (disk: Disk): string | undefined => {
    if (disk.state === 'in-use') return `${disk.build === undefined ? 'A build' : `Build ${disk.build.number}`} uses the disk.`
    return disk.removal === undefined ? forbidden : 'Its removal was requested.'
  }
  return (
    <Table
      caption="Disks"
      rows={items}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Disk', cell: ({ name, storageClass }) => <Pair main={<code>{name}</code>} more={storageClass} /> },
        { head: 'State', cell: StateCell },
        { head: 'Where', cell: ({ node, zone, runtime }) => <Pair main={node ?? zone ?? 'any node'} more={runtime} /> },
        {
          head: 'Size',
          cell: (disk) => <Pair main={formatBytes(disk.sizeBytes)} more={used(describeDiskUse(disk))} />,
        },
        { head: 'Last build', cell: BuildCell },
        {
          head: 'Used by',
          cell: ({ usableBy, uses }) => (
            <span className={styles['pair']}>
              <bdi className={styles['wrapped']}>{usableBy ?? 'unknown'}</bdi>
              <span className={styles['more']}>{plural(uses, 'use')}</span>
            </span>
          ),
        },
        { head: 'Why it was made', cell: ({ whyNew }) => <span className={styles['why']}>{whyNew ?? ''}</span> },
        {
          head: 'Action',
          cell: (disk) => (
            <Button small off={off(disk)} aria-label={`Remove ${disk.name}`} onClick={() => onRemove(disk)}>
              Remove
            </Button>
          ),
        },
      ]}
    />
  )
}

function used(share: string | undefined): string | undefined {
  return share === undefined ? undefined : `${share} used`
}

/** A value, and below it what explains it. */
function Pair({ main, more }: { readonly main: ReactElement | string; readonly more?: string | undefined }): ReactElement {
  return (
    <span className={styles['pair']}>
      <bdi className={styles['main']}>{main}</bdi>
      {more !== undefined && more !== '' && <bdi className={styles['more']}>{more}</bdi>}
    </span>
  )
}

function StateCell({ state, since, message, keptUntil }: Disk): ReactElement {
  const span = useTime((now) => formatSpan(now - since))
  const until = useTime((now) => (keptUntil === undefined ? '' : formatMoment(keptUntil, now)))
  return (
    <span className={styles['pair']}>
      <span className={styles['state']} data-state={state}>
        {STATES[state]} for{' '}
        <Tooltip text={formatExact(since)}>
          <time dateTime={new Date(since).toISOString()}>{span}</time>
        </Tooltip>
      </span>
      {message !== undefined && <bdi className={styles['why']}>{message}</bdi>}
      {keptUntil !== undefined && state === 'warm' && (
        <span className={styles['more']}>reserved for its build until {until}</span>
      )}
    </span>
  )
}

function BuildCell({ build, lastUsedAt }: Disk): ReactElement {
  return (
    <span className={styles['pair']}>
      {build === undefined ? (
        'unknown'
      ) : (
        <Link href={paths.build(build.id)}>
          <bdi>
            #{build.number} {build.pipeline}
          </bdi>
        </Link>
      )}
      {lastUsedAt !== undefined && (
        <span className={styles['more']}>
          <When at={lastUsedAt} />
        </span>
      )}
    </span>
  )
}

function RemovalDialog({ disk, onClose }: { readonly disk: Disk; readonly onClose: () => void }): ReactElement {
  const away = useAway()
  const remove = useMutation({
    mutationFn: () => client.disks.delete(disk.id, { timeoutMs: 30_000 }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['disks'] }),
  })
  const isDone = remove.data !== undefined
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Remove the disk ${disk.name}?`}
      actions={
        isDone ? (
          <Button onClick={onClose}>Close</Button>
        ) : (
          <>
            <Button tone="danger" off={away} isBusy={remove.isPending} onClick={() => remove.mutate()}>
              Remove the disk
            </Button>
            <Button onClick={onClose}>Cancel</Button>
          </>
        )
      }
    >
      {isDone ? (
        <p role="status">
          <bdi>{remove.data.message}</bdi>
        </p>
      ) : (
        <p>Its images, layers and files are lost. The next build that would use it starts with another disk.</p>
      )}
      {remove.error !== null && <Problem error={remove.error} />}
      {!isDone && <Command text={sh`windlass delete disk ${disk.name}`} />}
    </Dialog>
  )
}
