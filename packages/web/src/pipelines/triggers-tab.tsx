/** The triggers of a pipeline. */
import { useQuery } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'

export function TriggersTab({ pipeline: { name: pipeline } }: { readonly pipeline: Pipeline }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(queries.triggers(pipeline))
  if (isPending) return <Loading rows={3} what="triggers" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data.items.length === 0)
    return (
      <Empty action={<Command text={`windlass get triggers --pipeline ${pipeline}`} />}>No git event starts this pipeline.</Empty>
    )
  return (
    <Table
      caption="Triggers by git events"
      rows={data.items}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
        { head: 'Written in', cell: ({ origin }) => (origin === 'document' ? 'the document' : 'the server') },
        { head: 'Changed', cell: ({ updatedAt }) => <When at={updatedAt} /> },
      ]}
    />
  )
}
