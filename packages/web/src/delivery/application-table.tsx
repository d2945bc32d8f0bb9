/** The table of applications. */
import type { Application } from '@windlass/protocol'
import type { ReactElement, ReactNode } from 'react'
import { Link } from 'wouter'
import { Status } from '../looks/status.tsx'
import cells from '../parts/cells.module.css'
import { Narrow } from '../parts/cells.tsx'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { paths } from '../url/paths.ts'
import styles from './delivery.module.css'
import type { FilterProps, NameFilter } from './filter.ts'
import { describeDestination, describeSource, shortRevision } from './sources.ts'
import { lookOfHealth, lookOfPhase, lookOfSync } from './states.ts'

interface ApplicationTableProps extends FilterProps {
  readonly items: readonly Application[]
}

export function ApplicationTable({ items, filter, onChange }: ApplicationTableProps): ReactElement {
  const narrow = (name: NameFilter, value: string): ReactNode => (
    <Narrow name={name} value={value} onNarrow={() => onChange({ ...filter, [name]: value })} />
  )
  return (
    <Table
      caption="Applications"
      rows={items}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'Application',
          cell: (application) => (
            <span className={cells['pair']}>
              <Link href={paths.application(application)}>
                <bdi>{application.name}</bdi>
              </Link>
              <span className={cells['more']}>{narrow('project', application.project)}</span>
            </span>
          ),
        },
        { head: 'Health', cell: HealthCell },
        { head: 'Sync', cell: SyncCell },
        { head: 'Why', cell: ({ why }) => <bdi className={cells['why']}>{why ?? ''}</bdi> },
        { head: 'Source', cell: SourceCell },
        {
          head: 'Runtime',
          cell: (application) => (
            <span className={cells['pair']}>
              {narrow('runtime', application.runtime)}
              <bdi className={cells['more']}>{describeDestination(application)}</bdi>
            </span>
          ),
        },
      ]}
    />
  )
}

function HealthCell({ health, since, isDeleting }: Application): ReactElement {
  return (
    <span className={cells['pair']}>
      <Status look={lookOfHealth(health)} />
      <span className={cells['more']}>
        {isDeleting ? 'being deleted, ' : ''}
        <When at={since} />
      </span>
    </span>
  )
}

function SyncCell({ sync, operation, isAutomatic }: Application): ReactElement {
  return (
    <span className={cells['pair']}>
      <Status look={lookOfSync(sync)} />
      <span className={cells['more']}>
        {operation === undefined || operation.phase === 'succeeded'
          ? isAutomatic
            ? 'automatic'
            : 'by hand'
          : `sync: ${lookOfPhase(operation.phase).word.toLowerCase()}`}
      </span>
    </span>
  )
}

function SourceCell({ sources, revisions }: Application): ReactElement | null {
  const [source] = sources
  if (source === undefined) return null
  const more = sources.length > 1 ? ` and ${sources.length - 1} more` : ''
  const [revision] = revisions
  return (
    <span className={cells['pair']}>
      <bdi className={styles['source']}>{describeSource(source) + more}</bdi>
      <bdi className={cells['more']}>
        {[source.revision, revision === undefined ? undefined : shortRevision(revision)].filter(Boolean).join(' at ')}
      </bdi>
    </span>
  )
}
