/** People and service accounts with their roles, and the teams whose roles their members share. */
import { useQuery } from '@tanstack/react-query'
import type { User, UserCreated } from '@windlass/protocol'
import { Ellipsis } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { Button, IconButton } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Menu } from '../parts/floating/menu.tsx'
import { Problem, toProblem } from '../parts/problem.tsx'
import { Question } from '../parts/forms/question.tsx'
import { sh } from '../parts/shell.ts'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { usePaletteActions } from '../shell/palette/palette-actions.ts'
import { tell } from '../shell/toasts.tsx'
import { useHidden, useOff } from '../shell/use-off.ts'
import { NewPerson, RoleDialog } from './person-dialogs.tsx'
import { accessQueries } from './queries.ts'
import { Teams } from './teams.tsx'

const refresh = (): void => void queryClient.invalidateQueries({ queryKey: ['users'] })

export function People(): ReactElement {
  const hidden = useHidden('see-users')
  return hidden === undefined ? <Lists /> : <Empty>{hidden}</Empty>
}

function Lists(): ReactElement {
  const { data, error, isPending, refetch } = useQuery(accessQueries.users())
  const off = useOff('manage-users')
  const [isAdding, setIsAdding] = useState(false)
  const [invited, setInvited] = useState<{ readonly name: string; readonly code: string }>()
  usePaletteActions(() => [
    { id: 'add-person', group: 'Actions', label: 'Invite a person or add a service account', off, run: () => setIsAdding(true) },
  ])
  const created = ({ name, invitation }: UserCreated): void => {
    refresh()
    if (invitation === undefined) tell({ text: `Added ${name}. It acts with API keys: make one under Keys.` })
    else setInvited({ name, code: invitation.code })
  }
  return (
    <div className={layout['stack']}>
      <div className={layout['buttons']}>
        <Button tone="primary" off={off} onClick={() => setIsAdding(true)}>
          Invite a person or add a service account
        </Button>
      </div>
      {isAdding && <NewPerson onDone={created} onClose={() => setIsAdding(false)} />}
      {invited !== undefined && <InvitationLink name={invited.name} code={invited.code} />}
      {isPending && <Loading rows={6} what="people" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && (
        <Empty action={<Command text="windlass invite NAME --role developer" />}>
          There are no people yet. Only API keys act on this server.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <>
          <PeopleTable users={data} off={off} onInvited={(name, code) => setInvited({ name, code })} />
          <Command text="windlass get users" />
        </>
      )}
      <Teams users={data ?? []} off={off} />
    </div>
  )
}

function InvitationLink({ name, code }: { readonly name: string; readonly code: string }): ReactElement {
  return (
    <ShownOnce
      title={`Send this link to ${name}. It is shown only now.`}
      parts={[{ label: 'Link', text: `${location.origin}/signin#invitation=${code}` }]}
    >
      With it {name} sets a password, once. Another invitation ends this one.
    </ShownOnce>
  )
}

interface PeopleTableProps {
  readonly users: readonly User[]
  readonly off: string | undefined
  readonly onInvited: (name: string, code: string) => void
}

function PeopleTable({ users, off, onInvited }: PeopleTableProps): ReactElement {
  return (
    <Table
      caption="People and service accounts"
      rows={users}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'Name',
          cell: ({ name, displayName }) => <bdi>{displayName === undefined ? name : `${name} (${displayName})`}</bdi>,
        },
        { head: 'Kind', cell: ({ kind }) => (kind === 'user' ? 'person' : 'service account') },
        { head: 'Role', cell: ({ role }) => (role === 'none' ? 'none for the installation' : role) },
        { head: 'Roles in places', cell: (user) => <bdi>{placesOf(user)}</bdi> },
        { head: 'Teams', cell: ({ teams }) => <bdi>{(teams ?? []).join(', ')}</bdi> },
        { head: 'State', cell: ({ state }) => state },
        { head: 'Signed in', cell: ({ signedInAt }) => (signedInAt === undefined ? 'never' : <When at={signedInAt} />) },
        { head: 'Actions', cell: (user) => <PersonActions user={user} off={off} onInvited={onInvited} /> },
      ]}
    />
  )
}

/** Returns the roles of a user in projects and for pipelines. */
function placesOf({ projects, pipelines = {} }: Pick<User, 'projects' | 'pipelines'>): string {
  return [...Object.entries(projects), ...Object.entries(pipelines)].map(([place, role]) => `${role} of ${place}`).join(', ')
}

interface PersonActionsProps {
  readonly user: User
  readonly off: string | undefined
  readonly onInvited: (name: string, code: string) => void
}

function PersonActions({ user, off, onInvited }: PersonActionsProps): ReactElement {
  const [open, setOpen] = useState<'role' | 'delete' | 'disable'>()
  const { name, kind, state } = user
  const run = (call: Promise<unknown>): void =>
    void call.then(refresh, (error: unknown) => tell({ text: toProblem(error).message, tone: 'bad' }))
  const close = (): void => setOpen(undefined)
  const noInvitation = kind === 'user' ? undefined : 'A service account has no password.'
  return (
    <>
      <Menu
        button={
          <IconButton label={`Actions of ${name}`}>
            <Ellipsis size={16} aria-hidden />
          </IconButton>
        }
        groups={[
          [
            { label: 'Change the role', off, note: sh`windlass set role ${name} ROLE`, onChoose: () => setOpen('role') },
            {
              label: 'Invite again',
              off: off ?? noInvitation,
              note: sh`windlass invite ${name}`,
              onChoose: () => run(client.users.invite(name).then(({ code }) => onInvited(name, code))),
            },
          ],
          [
            state === 'disabled'
              ? { label: 'Enable', off, onChoose: () => run(client.users.change(name, { disabled: false })) }
              : { label: 'Disable', off, tone: 'danger' as const, onChoose: () => setOpen('disable') },
            {
              label: 'Delete',
              off,
              tone: 'danger' as const,
              note: sh`windlass delete user ${name}`,
              onChoose: () => setOpen('delete'),
            },
          ],
        ]}
      />
      {open === 'role' && <RoleDialog user={user} onDone={refresh} onClose={close} />}
      {open === 'disable' && (
        <Question
          title={`Disable ${name}?`}
          verb={`Disable ${name}`}
          onDo={() => client.users.change(name, { disabled: true }).then(refresh)}
          onClose={close}
        >
          <p>The sessions of {name} end and the keys are refused, within seconds. Nothing is deleted.</p>
        </Question>
      )}
      {open === 'delete' && (
        <Question
          title={`Delete ${name}?`}
          verb={`Delete ${name}`}
          onDo={() => client.users.delete(name).then(refresh)}
          onClose={close}
        >
          <p>The keys and sessions of {name} are deleted as well. Builds and audit records keep the name.</p>
        </Question>
      )}
    </>
  )
}
