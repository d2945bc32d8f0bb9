/** The objects of an application in the cluster, those that need attention first. */
import { plural } from '@windlass/plan'
import type { ApplicationResource } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Status } from '../looks/status.tsx'
import { Empty } from '../parts/empty.tsx'
import layout from '../parts/layout.module.css'
import cells from '../parts/cells.module.css'
import { Table } from '../parts/table.tsx'
import { lookOfHealth, lookOfSync } from './states.ts'

interface ResourceTableProps {
  readonly resources: readonly ApplicationResource[]
  /** Number of all resources, also of those that were left out. */
  readonly count: number
}

export function ResourceTable({ resources, count }: ResourceTableProps): ReactElement {
  if (resources.length === 0) return <Empty>The application has no resources.</Empty>
  return (
    <div className={layout['tight']}>
      <Table
        caption="Resources"
        rows={resources}
        keyOf={({ group = '', kind, namespace = '', name }) => `${group}/${kind}/${namespace}/${name}`}
        columns={[
          {
            head: 'Kind',
            cell: ({ group, kind, isHook }) => (
              <span className={cells['pair']}>
                <bdi>{kind}</bdi>
                <bdi className={cells['more']}>{[group, isHook === true ? 'hook' : undefined].filter(Boolean).join(', ')}</bdi>
              </span>
            ),
          },
          {
            head: 'Name',
            cell: ({ name, namespace }) => (
              <span className={cells['pair']}>
                <bdi>{name}</bdi>
                <bdi className={cells['more']}>{namespace ?? ''}</bdi>
              </span>
            ),
          },
          { head: 'Health', cell: ({ health }) => health !== undefined && <Status look={lookOfHealth(health)} /> },
          { head: 'Sync', cell: ({ sync }) => sync !== undefined && <Status look={lookOfSync(sync)} /> },
          {
            head: 'Message',
            cell: ({ message, isExtra }) => (
              <bdi className={cells['why']}>
                {[message, isExtra === true ? 'Not in the source anymore: a sync with pruning deletes it.' : undefined]
                  .filter(Boolean)
                  .join(' ')}
              </bdi>
            ),
          },
        ]}
      />
      {count > resources.length && (
        <p className={layout['note']}>
          {plural(count, 'resource')}, of which the {resources.length} that need attention most are shown.
        </p>
      )}
    </div>
  )
}
