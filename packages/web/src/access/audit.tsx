/** The audit log: who changed what, from where, with what it was before and after. */
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { listAll } from '@windlass/client'
import { plural } from '@windlass/plan'
import { AUDIT_RESULTS, type AuditRecord } from '@windlass/protocol'
import { useEffect, useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Select } from '../parts/forms/choice.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/forms/field.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { saveText } from '../parts/download.ts'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { client } from '../server/client.ts'
import { useParam } from '../url/search.ts'
import { useHidden } from '../shell/use-off.ts'
import { toCsv } from './csv.ts'
import { accessQueries, type AuditFilter } from './queries.ts'
import { verifyAudit, whyNotVerified } from './verify.ts'

export function Audit(): ReactElement {
  const hidden = useHidden('see-audit')
  return hidden === undefined ? <Log /> : <Empty>{hidden}</Empty>
}

function Log(): ReactElement {
  const [user, setUser] = useParam('user')
  const [result, setResult] = useParam('result')
  const [q, setQ] = useParam('q')
  const found = AUDIT_RESULTS.find((one) => one === result)
  const filter: AuditFilter = {
    ...(user !== undefined && { user }),
    ...(found !== undefined && { result: found }),
    ...(q !== undefined && { q }),
  }
  return (
    <div className={layout['stack']}>
      <div className={layout['pair']}>
        <SettledField label="User or key" value={user} onChange={setUser} />
        <SettledField label="Text in the action, the path or what changed" value={q} onChange={setQ} />
        <Select
          label="Result"
          options={[{ value: '', label: 'all' }, ...AUDIT_RESULTS.map((one) => ({ value: one, label: one }))]}
          value={result ?? ''}
          onChange={(value) => setResult(value === '' ? undefined : value)}
        />
      </div>
      <ChainState filter={filter} />
      <Records filter={filter} />
      <Command text="windlass audit list" />
    </div>
  )
}

const TYPED_MS = 300

interface SettledFieldProps {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (value: string | undefined) => void
}

/** A field that changes the address once its text has stayed the same for a moment. */
function SettledField({ label, value, onChange }: SettledFieldProps): ReactElement {
  const [typed, setTyped] = useState(value ?? '')
  useEffect(() => {
    const text = typed.trim()
    if (text === (value ?? '')) return undefined
    const timer = setTimeout(() => onChange(text === '' ? undefined : text), TYPED_MS)
    return () => clearTimeout(timer)
  }, [typed, value, onChange])
  return <Field label={label} type="search" value={typed} onChange={(event) => setTyped(event.target.value)} />
}

/** Records that an export has at most. */
const MOST_EXPORTED = 100_000

function ChainState({ filter }: { readonly filter: AuditFilter }): ReactElement {
  const [count, setCount] = useState(0)
  const verify = useMutation({ mutationFn: () => verifyAudit(setCount) })
  const save = useMutation({
    mutationFn: async () => listAll(({ query }) => client.audit.list({ query: { ...filter, ...query } }), MOST_EXPORTED),
    onSuccess: (records) => saveText('audit.csv', toCsv(records), 'text/csv'),
  })
  const { data } = verify
  return (
    <div className={layout['tight']}>
      <div className={layout['buttons']}>
        <Button off={whyNotVerified()} isBusy={verify.isPending} onClick={() => verify.mutate()}>
          Check the chain of hashes
        </Button>
        <Button isBusy={save.isPending} onClick={() => save.mutate()}>
          Export as CSV
        </Button>
        <span role="status">
          {verify.isPending && `${plural(count, 'record')} checked.`}
          {data?.problem !== undefined && `The chain is broken: ${data.problem}.`}
          {data !== undefined &&
            data.problem === undefined &&
            `${plural(data.count, 'record')} checked: none was changed, removed or reordered.`}
        </span>
      </div>
      {data?.last !== undefined && <Command text={`windlass audit verify --expect ${data.last.seq}:${data.last.hash}`} />}
      {verify.error !== null && <Problem error={verify.error} />}
      {save.error !== null && <Problem error={save.error} />}
    </div>
  )
}

function Records({ filter }: { readonly filter: AuditFilter }): ReactElement {
  const list = useInfiniteQuery(accessQueries.audit(filter))
  if (list.isPending) return <Loading rows={10} what="records" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const records = list.data.pages.flatMap(({ items }) => items)
  if (records.length === 0 && !list.hasNextPage) return <Empty>No record matches.</Empty>
  return (
    <>
      <Table
        caption="Audit records"
        rows={records}
        keyOf={({ seq }) => seq}
        columns={[
          { head: 'When', cell: ({ at }) => <When at={at} /> },
          { head: 'Who', cell: (record) => <bdi>{whoOf(record)}</bdi> },
          { head: 'What', cell: (record) => <What {...record} /> },
          { head: 'Result', cell: ({ result, code }) => (code === undefined ? result : `${result}: ${code}`) },
          { head: 'From', cell: ({ address }) => <bdi className={layout['line']}>{address}</bdi> },
          { head: 'Record', cell: ({ seq }) => seq },
        ]}
      />
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older records
        </Button>
      )}
    </>
  )
}

function whoOf({ actor, owner, kind }: AuditRecord): string {
  if (kind === 'nobody') return `nobody${actor === '' ? '' : `, as ${actor}`}`
  return owner === undefined || owner === actor ? `${actor} (${kind})` : `${owner} (${kind} ${actor})`
}

/** What changed, above the call that changed it. */
function What({ action, target, detail }: Pick<AuditRecord, 'action' | 'target' | 'detail'>): ReactElement {
  const [method] = action.split(' ')
  return (
    <>
      {detail !== undefined && (
        <div>
          <bdi>{detail}</bdi>
        </div>
      )}
      <bdi className="mono quiet">
        {method} {target}
      </bdi>
    </>
  )
}
