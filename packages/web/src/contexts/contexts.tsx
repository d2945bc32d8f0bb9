/** The contexts: shared configuration and integrations, and a form for each type. */
import { useQuery } from '@tanstack/react-query'
import { CONTEXT_TYPES, isSecretContextField, type Context } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link, useLocation } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Menu } from '../parts/floating/menu.tsx'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { Page } from '../shell/page.tsx'
import { usePaletteActions } from '../shell/palette/palette-actions.ts'
import { paths } from '../url/paths.ts'
import { useParam } from '../url/search.ts'
import { ContextForm } from './context-form.tsx'
import { TYPE_WORDS } from './draft.ts'
import { contextQueries } from './queries.ts'

export function Contexts(): ReactElement {
  const [wanted, setWanted] = useParam('new')
  const [, go] = useLocation()
  const state = useSession()
  const session = state.kind === 'in' ? state.session : undefined
  const hidden = whyNot(session, 'see-contexts')
  const off = useAway() ?? whyNot(session, 'change-contexts')
  const type = CONTEXT_TYPES.find((one) => one === wanted)
  usePaletteActions(() => [{ id: 'new-context', group: 'Actions', label: 'Add a context', off, run: () => setWanted('secret') }])
  return (
    <Page
      title={type === undefined ? 'Contexts' : `New context: ${TYPE_WORDS[type]}`}
      actions={
        <Menu
          button={
            <Button off={off} tone={type === undefined ? 'primary' : 'plain'}>
              Add a context
            </Button>
          }
          groups={[CONTEXT_TYPES.map((one) => ({ label: TYPE_WORDS[one], off, onChoose: () => setWanted(one) }))]}
        />
      }
    >
      {hidden !== undefined && <Empty>{hidden}</Empty>}
      {hidden === undefined && type !== undefined && (
        <ContextForm
          key={type}
          type={type}
          onStored={({ name }) => go(paths.context(name))}
          onCancel={() => setWanted(undefined)}
        />
      )}
      {hidden === undefined && type === undefined && <ContextList />}
    </Page>
  )
}

function ContextList(): ReactElement {
  const { data, error, isPending, refetch } = useQuery(contextQueries.list())
  if (isPending) return <Loading rows={6} what="contexts" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data.items.length === 0)
    return (
      <Empty action={<Command text="windlass create context --help" />}>
        There are no contexts yet. A context holds variables, secrets or a login that several pipelines use.
      </Empty>
    )
  return (
    <div className={layout['stack']}>
      <Table
        caption="Contexts"
        rows={data.items}
        keyOf={({ id }) => id}
        columns={[
          {
            head: 'Name',
            cell: ({ name }) => (
              <Link href={paths.context(name)}>
                <bdi>{name}</bdi>
              </Link>
            ),
          },
          { head: 'Type', cell: ({ type }) => TYPE_WORDS[type] },
          { head: 'Default', cell: ({ isDefault }) => (isDefault ? 'yes' : '') },
          { head: 'Fields', cell: (context) => <bdi>{fieldsOf(context)}</bdi> },
          { head: 'State', cell: ({ problem }) => <bdi>{problem ?? ''}</bdi> },
          { head: 'Changed', cell: ({ updatedAt }) => <When at={updatedAt} /> },
        ]}
      />
      <Command text="windlass get contexts" />
    </div>
  )
}

/** Returns the names of the fields, those that are secret with a remark. */
function fieldsOf({ type, data }: Context): string {
  const names = Object.keys(data).map((name) => (isSecretContextField(type, name) ? `${name} (secret)` : name))
  return names.length > 6 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ')
}
