/** The specification of a runtime: each value with the layer that it comes from, and its own layer as text that can be changed. */
import { useQuery } from '@tanstack/react-query'
import { leavesOf, type Runtime } from '@windlass/protocol'
import { Suspense, type ReactElement } from 'react'
import { Link } from 'wouter'
import { Button } from '../../parts/button.tsx'
import { Command, CopyButton } from '../../parts/copy.tsx'
import { Field } from '../../parts/forms/field.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import { Table } from '../../parts/table.tsx'
import { late } from '../../shell/late.tsx'
import { useHidden, useOff } from '../../shell/use-off.ts'
import { paths } from '../../url/paths.ts'
import { useParam } from '../../url/search.ts'
import styles from '../fleet.module.css'
import { fleet } from '../queries.ts'
import { writeValue } from './spec-values.ts'

/** The parser of YAML is loaded with the editor. */
const SpecEditor = late(async () => (await import('./spec-editor.tsx')).SpecEditor)

export function SpecTab({ runtime }: { readonly runtime: Runtime }): ReactElement {
  const [edit, setEdit] = useParam('edit')
  const off = useOff('manage-runners')
  const forbidden = useHidden('manage-runners')
  // A server that is away does not close the editor, which has what was typed.
  if (edit !== undefined && forbidden === undefined)
    return (
      <Suspense fallback={<Loading rows={8} what="the editor" />}>
        <SpecEditor runtime={runtime} onClose={() => setEdit(undefined)} />
      </Suspense>
    )
  return (
    <div className={styles['stack']}>
      <div className={styles['buttons']}>
        <Button off={off} onClick={() => setEdit('true')}>
          Edit the own layer
        </Button>
        <CopyButton text={JSON.stringify(runtime.spec, null, 2)} label="Copy the own layer as JSON" />
      </div>
      <Values runtime={runtime} />
      <Command text={sh`windlass get re ${runtime.name} --origins`} />
    </div>
  )
}

interface Row {
  readonly path: string
  readonly value: unknown
  readonly from: string
}

function Values({ runtime }: { readonly runtime: Runtime }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(fleet.merged(runtime.name))
  const [wanted = '', setWanted] = useParam('field')
  if (isPending) return <Loading rows={10} what="the specification" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  const { origins = {} } = data
  const rows: Row[] = [...leavesOf(data.spec)].map(([path, value]) => ({ path, value, from: origins[path] ?? '' }))
  const shown = rows.filter(({ path, from }) => `${path} ${from}`.toLowerCase().includes(wanted.toLowerCase()))
  const own = rows.filter(({ from }) => from === runtime.name).length
  return (
    <>
      <p className="quiet">
        {rows.length} values, {own} of them set by this runtime. The others come from the layers that it extends.
      </p>
      <div className={styles['search']}>
        <Field label="Show only fields and layers with" value={wanted} onChange={(event) => setWanted(event.target.value)} />
      </div>
      <Table
        caption="Values of the specification"
        rows={shown.toSorted((one, other) => one.path.localeCompare(other.path))}
        keyOf={({ path }) => path}
        columns={[
          { head: 'Field', cell: ({ path }) => <bdi className="mono">{path}</bdi> },
          { head: 'Value', cell: ({ value }) => <bdi className="mono">{writeValue(value)}</bdi> },
          { head: 'From', cell: ({ from }) => <Origin name={from} own={runtime.name} /> },
        ]}
      />
    </>
  )
}

/** The name of a layer. Another runtime is a link. */
function Origin({ name, own }: { readonly name: string; readonly own: string }): ReactElement {
  if (name === own) return <span className={styles['tag']}>this runtime</span>
  const isRuntime = name !== '' && !name.startsWith('system/')
  return isRuntime ? (
    <Link href={paths.runtime(name, 'spec')}>
      <bdi>{name}</bdi>
    </Link>
  ) : (
    <bdi>{name}</bdi>
  )
}
