/** Variables of a build with the level that they come from, and what each of them overrides. Secret values never reach the page. */
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'
import { Empty } from '../../parts/empty.tsx'
import { Field } from '../../parts/forms/field.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Table } from '../../parts/table.tsx'
import { keyOfVariable, VARIABLE_COLUMNS } from '../../parts/forms/variable-columns.tsx'
import { queries } from '../../server/queries.ts'
import styles from '../build.module.css'

export function VariablesTab({ id }: { readonly id: string }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(queries.buildPlan(id))
  const [wanted, setWanted] = useState('')
  if (isPending) return <Loading what="variables" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  const all = data.plan?.variables ?? []
  if (all.length === 0) return <Empty>The build has no variables.</Empty>
  const rows = all.filter(({ name }) => name.toLowerCase().includes(wanted.trim().toLowerCase()))
  return (
    <>
      <div className={styles['narrow']}>
        <Field label="Find a variable" type="search" value={wanted} onChange={(event) => setWanted(event.target.value)} />
      </div>
      <Table
        caption="Variables"
        rows={rows}
        keyOf={keyOfVariable}
        columns={[...VARIABLE_COLUMNS, { head: 'Overridden by', cell: ({ overriddenBy }) => overriddenBy ?? '' }]}
      />
    </>
  )
}
