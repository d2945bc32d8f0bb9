/** The list of pipelines. */
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { Page } from '../shell/page.tsx'
import { paths } from '../url/paths.ts'
import styles from './pipelines.module.css'

export function Pipelines(): ReactElement {
  return (
    <Page title="Pipelines">
      <PipelineList />
    </Page>
  )
}

function PipelineList(): ReactElement {
  const list = useInfiniteQuery(queries.pipelineList())
  if (list.isPending) return <Loading rows={8} what="pipelines" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const pipelines = list.data.pages.flatMap(({ items }) => items)
  if (pipelines.length === 0)
    return <Empty action={<Command text="windlass apply -f pipeline.yml" />}>There are no pipelines that you may see.</Empty>
  return (
    <div className={styles['stack']}>
      <Table
        caption="Pipelines"
        rows={pipelines}
        keyOf={({ id }) => id}
        columns={[
          {
            head: 'Name',
            cell: ({ name }) => (
              <Link href={paths.pipeline(name)}>
                <bdi>{name}</bdi>
              </Link>
            ),
          },
          { head: 'Runtime', cell: ({ runtime }) => <bdi>{runtime ?? 'default'}</bdi> },
          { head: 'Variables', cell: ({ variables }) => variables.length },
          { head: 'Changed', cell: ({ updatedAt }) => <When at={updatedAt} /> },
        ]}
      />
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show more pipelines
        </Button>
      )}
      <Command text="windlass get pipelines" />
    </div>
  )
}
