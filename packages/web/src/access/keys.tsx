/** API keys: what each may do, until when, when it was last used, and its end. A key is shown once. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { ROLES, SCOPES, type ApiKey, type Role, type Scope } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { now } from '../looks/clock.ts'
import { formatExact } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Checks, Select } from '../parts/forms/choice.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/forms/field.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { Question } from '../parts/forms/question.tsx'
import { sh } from '../parts/shell.ts'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useAway } from '../shell/away-bar.tsx'
import { usePaletteActions } from '../shell/palette/palette-actions.ts'
import { useHidden } from '../shell/use-off.ts'
import { accessQueries } from './queries.ts'

/** How often the list is read while it is shown: uses are reported within a minute. Milliseconds. */
const REREAD_MS = 15_000

const refresh = (): void => void queryClient.invalidateQueries({ queryKey: ['keys'] })

interface MadeKey {
  readonly name: string
  readonly token: string
}

export function Keys(): ReactElement {
  const { data, error, isPending, refetch } = useQuery({ ...accessQueries.keys(), refetchInterval: REREAD_MS })
  const away = useAway()
  const [isAdding, setIsAdding] = useState(false)
  const [made, setMade] = useState<MadeKey>()
  const [revoked, setRevoked] = useState<ApiKey>()
  usePaletteActions(() => [
    { id: 'add-key', group: 'Actions', label: 'Make an API key', off: away, run: () => setIsAdding(true) },
  ])
  return (
    <div className={layout['stack']}>
      <div className={layout['buttons']}>
        <Button tone="primary" off={away} onClick={() => setIsAdding(true)}>
          Make a key
        </Button>
      </div>
      {made !== undefined && (
        <ShownOnce title={`The key ${made.name}. It is shown only now.`} parts={[{ label: 'Key', text: made.token }]}>
          Store it where it is used. If it is lost, revoke it and make another one.
        </ShownOnce>
      )}
      {isAdding && <NewKey onDone={setMade} onClose={() => setIsAdding(false)} />}
      {isPending && <Loading rows={4} what="keys" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data?.items.length === 0 && (
        <Empty action={<Command text="windlass create key NAME" />}>
          You have no API keys. Programs use them to act for you.
        </Empty>
      )}
      {data !== undefined && data.items.length > 0 && (
        <>
          <KeyTable keys={data.items} off={away} onRevoke={setRevoked} />
          <Command text="windlass get keys" />
        </>
      )}
      {revoked !== undefined && (
        <Question
          title={`Revoke the key ${revoked.name}?`}
          verb="Revoke the key"
          onDo={() => client.keys.delete(revoked.id).then(refresh)}
          onClose={() => setRevoked(undefined)}
        >
          <p>Calls with it are refused within 3 seconds on every server. This cannot be undone.</p>
          <Command text={sh`windlass delete key ${revoked.name}`} />
        </Question>
      )}
    </div>
  )
}

interface KeyTableProps {
  readonly keys: readonly ApiKey[]
  readonly off: string | undefined
  readonly onRevoke: (key: ApiKey) => void
}

function KeyTable({ keys, off, onRevoke }: KeyTableProps): ReactElement {
  return (
    <Table
      caption="API keys"
      rows={keys}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
        { head: 'Acts for', cell: ({ owner }) => <bdi>{owner?.name ?? 'itself'}</bdi> },
        { head: 'Role', cell: ({ role }) => role },
        { head: 'Scopes', cell: ({ scopes }) => (scopes === undefined ? 'all of the role' : scopes.join(', ')) },
        { head: 'Last use', cell: ({ usedAt }) => (usedAt === undefined ? 'never' : <When at={usedAt} />) },
        { head: 'Ends', cell: ({ expiresAt }) => (expiresAt === undefined ? 'never' : formatExact(expiresAt)) },
        { head: 'Made', cell: ({ createdAt }) => <When at={createdAt} /> },
        {
          head: 'Actions',
          cell: (key) => (
            <Button small tone="danger" off={off} aria-label={`Revoke the key ${key.name}`} onClick={() => onRevoke(key)}>
              Revoke
            </Button>
          ),
        },
      ]}
    />
  )
}

const DAY_MS = 86_400_000
const ENDS = [
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
  { value: '', label: 'never' },
] as const

interface NewKeyProps {
  readonly onDone: (key: MadeKey) => void
  readonly onClose: () => void
}

function NewKey({ onDone, onClose }: NewKeyProps): ReactElement {
  const away = useAway()
  const mayManage = useHidden('manage-users') === undefined
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('developer')
  const [scopes, setScopes] = useState<readonly string[]>([])
  const [days, setDays] = useState('90')
  const [owner, setOwner] = useState('')
  // A call whose answer was lost must be the same when it is tried again.
  const [openedAt] = useState(now)
  const users = useQuery({ ...accessQueries.users(), enabled: mayManage })
  const make = useMutation({
    mutationFn: () =>
      client.keys.create({
        name: name.trim(),
        role,
        ...(scopes.length > 0 && { scopes: SCOPES.filter((scope): scope is Scope => scopes.includes(scope)) }),
        ...(days !== '' && { expiresAt: openedAt + Number(days) * DAY_MS }),
        ...(owner !== '' && { owner }),
      }),
    onSuccess: ({ name: made, token }) => {
      refresh()
      onDone({ name: made, token })
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title="Make an API key"
      actions={
        <>
          <Button
            tone="primary"
            off={away ?? (name.trim() === '' ? 'The key has no name.' : undefined)}
            isBusy={make.isPending}
            onClick={() => make.mutate()}
          >
            Make the key
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <div className={layout['pair']}>
        <Field label="Name" value={name} onChange={(event) => setName(event.target.value)} />
        <Select
          label="Role, at most"
          options={ROLES.map((one) => ({ value: one, label: one }))}
          value={role}
          onChange={(value) => setRole(ROLES.find((one) => one === value) ?? 'developer')}
        />
        <Select label="Ends" options={ENDS} value={days} onChange={setDays} />
        {mayManage && (
          <Select
            label="Acts for"
            options={[{ value: '', label: 'you' }, ...(users.data ?? []).map((user) => ({ value: user.name, label: user.name }))]}
            value={owner}
            onChange={setOwner}
          />
        )}
      </div>
      <Checks
        legend="Only these scopes. None chosen: all that the role allows"
        options={SCOPES}
        chosen={scopes}
        onChange={setScopes}
      />
      {make.error !== null && <Problem error={make.error} />}
      <Command text={sh`windlass create key ${name.trim() || 'NAME'} --role ${role}`} />
    </Dialog>
  )
}
