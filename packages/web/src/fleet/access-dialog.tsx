/** Gives the tags of a runtime to teams: only their members, and admins, then see and use it. */
import { useMutation, useQuery } from '@tanstack/react-query'
import type { AccountSettings } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { accessQueries } from '../access/queries.ts'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Check, Checks } from '../parts/forms/choice.tsx'
import { FormDialog } from '../parts/forms/form-dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { tell } from '../shell/toasts.tsx'
import { useOff } from '../shell/use-off.ts'
import { fleet } from './queries.ts'
import { refreshRuntimes } from './save-runtime.ts'

interface AccessProps {
  /** Name of the runtime. */
  readonly name: string
  readonly onClose: () => void
}

export function AccessDialog({ name, onClose }: AccessProps): ReactElement {
  const merged = useQuery(fleet.merged(name))
  const settings = useQuery(queries.settings())
  const teams = useQuery(accessQueries.teams())
  const error = merged.error ?? settings.error ?? teams.error
  const isRead = merged.data !== undefined && settings.data !== undefined && teams.data !== undefined
  return (
    <>
      {!isRead && error !== null && (
        <Dialog isOpen onClose={onClose} title={`Teams of ${name}`}>
          <Problem error={error} />
        </Dialog>
      )}
      {isRead && (
        <AccessForm
          name={name}
          tags={tagsOf(merged.data.spec)}
          teams={teams.data.map((team) => team.name)}
          before={settings.data.runtimeAccess}
          onClose={onClose}
        />
      )}
    </>
  )
}

type Access = AccountSettings['runtimeAccess']

interface FormProps extends AccessProps {
  readonly tags: readonly string[]
  readonly teams: readonly string[]
  readonly before: Access
}

function AccessForm({ name, tags, teams, before, onClose }: FormProps): ReactElement {
  const off = useOff('manage-account')
  const [access, setAccess] = useState<Access>(before)
  const save = useMutation({
    // The other settings and tags are read right before, because a write replaces all of them.
    mutationFn: async () => {
      const now = await client.settings.get()
      const others = Object.entries(now.runtimeAccess).filter(([tag]) => !tags.includes(tag))
      const own = Object.entries(access).filter(([tag]) => tags.includes(tag))
      await client.settings.put({ ...now, runtimeAccess: Object.fromEntries([...others, ...own]) })
    },
    onSuccess: () => {
      for (const key of ['settings', 'system']) void queryClient.invalidateQueries({ queryKey: [key] })
      refreshRuntimes()
      tell({ text: `The teams of ${name} are saved.` })
      onClose()
    },
  })
  const change = (tag: string, chosen: readonly string[] | undefined): void => {
    const { [tag]: _, ...others } = access
    setAccess(chosen === undefined ? others : { ...others, [tag]: [...chosen] })
  }
  return (
    <FormDialog
      title={`Teams of ${name}`}
      verb="Save the teams"
      off={off ?? (tags.length === 0 ? 'The runtime has no tags.' : undefined)}
      isBusy={save.isPending}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <p>
        {tags.length === 0
          ? 'Add tags to the specification of the runtime. Tags can then be given to teams.'
          : 'A tag applies to all runtimes that have it. Admins, and members of a team of any of its tags, can use a runtime.'}
      </p>
      {tags.map((tag) => {
        const own = access[tag]
        return (
          <div key={tag}>
            <Check
              label={`Only for teams: runtimes with the tag ${tag}`}
              isOn={own !== undefined}
              onChange={(isOn) => change(tag, isOn ? [] : undefined)}
            />
            {own !== undefined && (
              <Checks
                legend={`Teams of the tag ${tag}`}
                options={[...new Set([...teams, ...own])]}
                chosen={own}
                onChange={(chosen) => change(tag, chosen)}
              />
            )}
          </div>
        )
      })}
      {save.error !== null && <Problem error={save.error} />}
      {tags.map((tag) => (
        <Command key={tag} text={commandOf(tag, access[tag])} />
      ))}
    </FormDialog>
  )
}

function commandOf(tag: string, teams: readonly string[] | undefined): string {
  const options = teams === undefined ? ['--everybody'] : teams.flatMap((team) => ['--team', team])
  return sh`windlass set runtime-access ${tag} ${options}`
}

function tagsOf({ tags }: Readonly<Record<string, unknown>>): string[] {
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : []
}
