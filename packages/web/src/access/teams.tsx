/** Teams: their role, their members, and who joins or leaves. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { TeamInput, type InstallationRole, type Team, type User } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Checks } from '../parts/forms/choice.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Field } from '../parts/forms/field.tsx'
import layout from '../parts/layout.module.css'
import { Problem } from '../parts/problem.tsx'
import { Question } from '../parts/forms/question.tsx'
import { sh } from '../parts/shell.ts'
import { Table } from '../parts/table.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useAway } from '../shell/away-bar.tsx'
import { RoleField } from './person-dialogs.tsx'
import { accessQueries } from './queries.ts'

function refresh(): void {
  void queryClient.invalidateQueries({ queryKey: ['teams'] })
  void queryClient.invalidateQueries({ queryKey: ['users'] })
}

interface TeamsProps {
  readonly users: readonly User[]
  readonly off: string | undefined
}

export function Teams({ users, off }: TeamsProps): ReactElement {
  const { data, error } = useQuery(accessQueries.teams())
  const [edited, setEdited] = useState<Team | 'new'>()
  const [removed, setRemoved] = useState<Team>()
  return (
    <section className={layout['tight']} aria-label="Teams">
      <h2>Teams</h2>
      {error !== null && <Problem error={error} />}
      {data?.length === 0 && (
        <p className={layout['note']}>There are no teams. The members of a team have its role in addition to their own.</p>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          caption="Teams"
          rows={data}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
            { head: 'Role', cell: ({ role }) => role },
            { head: 'Members', cell: ({ members }) => <bdi>{members.join(', ')}</bdi> },
            {
              head: 'Actions',
              cell: (team) => (
                <div className={layout['buttons']}>
                  <Button small off={off} onClick={() => setEdited(team)} aria-label={`Edit the team ${team.name}`}>
                    Edit
                  </Button>
                  <Button
                    small
                    tone="danger"
                    off={off}
                    onClick={() => setRemoved(team)}
                    aria-label={`Delete the team ${team.name}`}
                  >
                    Delete
                  </Button>
                </div>
              ),
            },
          ]}
        />
      )}
      <div className={layout['buttons']}>
        <Button off={off} onClick={() => setEdited('new')}>
          Add a team
        </Button>
      </div>
      {edited !== undefined && (
        <TeamDialog team={edited === 'new' ? undefined : edited} users={users} onClose={() => setEdited(undefined)} />
      )}
      {removed !== undefined && (
        <Question
          title={`Delete the team ${removed.name}?`}
          verb="Delete the team"
          onDo={() => client.teams.delete(removed.name).then(refresh)}
          onClose={() => setRemoved(undefined)}
        >
          <p>Its {removed.members.length} members keep only their own roles.</p>
        </Question>
      )}
    </section>
  )
}

interface TeamDialogProps {
  readonly team: Team | undefined
  readonly users: readonly User[]
  readonly onClose: () => void
}

function TeamDialog({ team, users, onClose }: TeamDialogProps): ReactElement {
  const away = useAway()
  const [name, setName] = useState(team?.name ?? '')
  const [role, setRole] = useState<InstallationRole>(team?.role ?? 'none')
  const [members, setMembers] = useState<readonly string[]>(team?.members ?? [])
  const checked = TeamInput.safeParse({ name: name.trim(), role, members })
  const wrong = checked.success ? undefined : `The name ${checked.error.issues[0]?.message ?? 'is missing'}.`
  const store = useMutation({
    mutationFn: async () => {
      if (team !== undefined) await client.teams.change(team.name, { role, members: [...members] })
      else if (checked.success) await client.teams.create(checked.data)
    },
    onSuccess: () => {
      refresh()
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={team === undefined ? 'Add a team' : `Team ${team.name}`}
      actions={
        <>
          <Button tone="primary" off={away ?? wrong} isBusy={store.isPending} onClick={() => store.mutate()}>
            {team === undefined ? 'Add the team' : 'Save the team'}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      {team === undefined && <Field label="Name" value={name} onChange={(event) => setName(event.target.value)} />}
      <RoleField role={role} onChange={setRole} />
      <Checks
        legend="Members"
        options={[...new Set([...users.map((user) => user.name), ...(team?.members ?? [])])]}
        chosen={members}
        onChange={setMembers}
      />
      {store.error !== null && <Problem error={store.error} />}
      <Command
        text={
          team === undefined
            ? sh`windlass create team ${name.trim() || 'NAME'} --role ${role}`
            : sh`windlass get teams ${team.name}`
        }
      />
    </Dialog>
  )
}
