/** Dialogs of people: a new one, and another role. */
import { useMutation } from '@tanstack/react-query'
import {
  INSTALLATION_ROLES,
  RIGHTS,
  USER_KINDS,
  UserInput,
  type InstallationRole,
  type User,
  type UserCreated,
} from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Select } from '../parts/forms/choice.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Field } from '../parts/forms/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { client } from '../server/client.ts'
import { useAway } from '../shell/away-bar.tsx'

const ROLE_WORDS: Readonly<Record<InstallationRole, string>> = {
  none: 'none: only roles in projects and for pipelines',
  viewer: 'viewer: sees everything',
  developer: 'developer: runs builds and changes pipelines',
  maintainer: 'maintainer: also projects, contexts and webhooks',
  admin: 'admin: everything',
}

function readRole(text: string): InstallationRole {
  return INSTALLATION_ROLES.find((role) => role === text) ?? 'viewer'
}

interface RoleFieldProps {
  readonly role: InstallationRole
  readonly onChange: (role: InstallationRole) => void
}

export function RoleField({ role, onChange }: RoleFieldProps): ReactElement {
  return (
    <Select
      label="Role for the installation"
      hint={`The page Roles lists what each role may do, ${Object.keys(RIGHTS).length} rights in all.`}
      options={INSTALLATION_ROLES.map((one) => ({ value: one, label: ROLE_WORDS[one] }))}
      value={role}
      onChange={(value) => onChange(readRole(value))}
    />
  )
}

interface NewPersonProps {
  readonly onDone: (user: UserCreated) => void
  readonly onClose: () => void
}

export function NewPerson({ onDone, onClose }: NewPersonProps): ReactElement {
  const away = useAway()
  const [kind, setKind] = useState<string>('user')
  const [name, setName] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [role, setRole] = useState<InstallationRole>('developer')
  const input = {
    kind,
    name: name.trim(),
    role,
    ...(displayName.trim() !== '' && { displayName: displayName.trim() }),
  }
  const checked = UserInput.safeParse(input)
  const wrong = checked.success ? undefined : `The name ${checked.error.issues[0]?.message ?? 'is missing'}.`
  const add = useMutation({
    mutationFn: async () => (checked.success ? client.users.create(checked.data) : undefined),
    onSuccess: (user) => {
      if (user !== undefined) onDone(user)
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Invite a person or add a service account"
      actions={
        <>
          <Button tone="primary" off={away ?? wrong} isBusy={add.isPending} onClick={() => add.mutate()}>
            {kind === 'user' ? 'Invite the person' : 'Add the service account'}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <Select
        label="Kind"
        options={USER_KINDS.map((one) => ({
          value: one,
          label: one === 'user' ? 'Person, who signs in' : 'Service account, with keys only',
        }))}
        value={kind}
        onChange={setKind}
      />
      <Field
        label="Name"
        hint="Lower case, for the sign-in. An e-mail address is a name, too."
        value={name}
        error={name === '' ? undefined : wrong}
        onChange={(event) => setName(event.target.value)}
      />
      <Field label="Name as it is shown" value={displayName} onChange={(event) => setDisplayName(event.target.value)} />
      <RoleField role={role} onChange={setRole} />
      {add.error !== null && <Problem error={add.error} />}
      <Command
        text={sh`windlass create ${kind === 'user' ? 'user' : 'service-account'} ${name.trim() || 'NAME'} --role ${role}`}
      />
    </Dialog>
  )
}

interface RoleDialogProps {
  readonly user: User
  readonly onDone: () => void
  readonly onClose: () => void
}

export function RoleDialog({ user, onDone, onClose }: RoleDialogProps): ReactElement {
  const away = useAway()
  const [role, setRole] = useState<InstallationRole>(user.role)
  const change = useMutation({
    mutationFn: () => client.users.change(user.name, { role }),
    onSuccess: () => {
      onDone()
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Role of ${user.name}`}
      actions={
        <>
          <Button
            tone="primary"
            off={away ?? (role === user.role ? 'The role is the same.' : undefined)}
            isBusy={change.isPending}
            onClick={() => change.mutate()}
          >
            Change the role
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <RoleField role={role} onChange={setRole} />
      {change.error !== null && <Problem error={change.error} />}
    </Dialog>
  )
}
