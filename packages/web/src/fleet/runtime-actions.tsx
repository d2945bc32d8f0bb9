/** What can be done with a runtime, each with the command that does the same. */
import { useMutation } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { Runtime } from '@windlass/protocol'
import { Ellipsis, Star, Trash2, Users } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { Button, IconButton } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Menu, type MenuEntry } from '../parts/floating/menu.tsx'
import { Question } from '../parts/forms/question.tsx'
import { sh } from '../parts/shell.ts'
import { client } from '../server/client.ts'
import { usePaletteActions } from '../shell/palette/palette-actions.ts'
import { tell, tellProblem } from '../shell/toasts.tsx'
import { useOff } from '../shell/use-off.ts'
import { paths } from '../url/paths.ts'
import { AccessDialog } from './access-dialog.tsx'
import { CapacityDialog } from './capacity-dialog.tsx'
import styles from './fleet.module.css'
import { refreshRuntimes } from './save-runtime.ts'

type Asked = 'capacity' | 'access' | 'delete' | undefined

export function RuntimeActions({ runtime }: { readonly runtime: Runtime }): ReactElement {
  const { name, isDefault } = runtime
  const [asked, setAsked] = useState<Asked>()
  const off = useOff('manage-runners')
  const makeDefault = useMutation({
    mutationFn: () => client.runtimes.makeDefault(name),
    onSuccess: () => {
      refreshRuntimes()
      tell({ text: `${name} is the default runtime.` })
    },
    onError: tellProblem,
  })
  const entries: MenuEntry[] = [
    {
      label: 'Make it the default',
      icon: <Star size={14} aria-hidden />,
      off: off ?? (isDefault ? 'It is the default already.' : undefined),
      note: sh`windlass patch re ${name} --default`,
      onChoose: () => makeDefault.mutate(),
    },
    {
      label: 'Choose its teams',
      icon: <Users size={14} aria-hidden />,
      off,
      note: 'windlass set runtime-access TAG --team TEAM',
      onChoose: () => setAsked('access'),
    },
    {
      label: 'Delete the runtime',
      icon: <Trash2 size={14} aria-hidden />,
      tone: 'danger',
      off,
      note: sh`windlass delete re ${name}`,
      onChoose: () => setAsked('delete'),
    },
  ]
  usePaletteActions(() => [
    { id: 'runtime capacity', group: 'Actions', label: 'Raise the capacity', note: name, off, run: () => setAsked('capacity') },
    ...entries.map(({ label, off: why, onChoose }) => ({
      id: `runtime ${label}`,
      group: 'Actions',
      label,
      note: name,
      off: why,
      run: onChoose,
    })),
  ])
  const close = (): void => setAsked(undefined)
  return (
    <>
      <Button off={off} onClick={() => setAsked('capacity')}>
        Raise capacity
      </Button>
      <Menu
        button={
          <IconButton label="Further actions">
            <Ellipsis size={16} aria-hidden />
          </IconButton>
        }
        groups={[entries]}
      />
      {asked === 'capacity' && <CapacityDialog name={name} onClose={close} />}
      {asked === 'access' && <AccessDialog name={name} onClose={close} />}
      {asked === 'delete' && <DeleteDialog runtime={runtime} onClose={close} />}
    </>
  )
}

/** Asks before a runtime is deleted. What the server refuses can be forced, if the server says so. */
function DeleteDialog({ runtime, onClose }: { readonly runtime: Runtime; readonly onClose: () => void }): ReactElement {
  const { name, isDefault, waiting } = runtime
  const [, go] = useLocation()
  const [isForced, setIsForced] = useState(false)
  const off = useOff('manage-runners')
  const remove = async (): Promise<void> => {
    await client.runtimes.delete(name, { query: { force: isForced } })
    go(paths.runtimes())
    refreshRuntimes()
    tell({ text: `The runtime ${name} is deleted.` })
  }
  return (
    <Question title={`Delete ${name}?`} verb="Delete the runtime" off={off} onDo={remove} onClose={onClose}>
      <p>
        Pipelines that name it use the default runtime instead.{' '}
        {waiting > 0 &&
          `${plural(waiting, 'build')} that ${waiting === 1 ? 'waits' : 'wait'} for it ${waiting === 1 ? 'keeps' : 'keep'} waiting. `}
        Nothing in its cluster is deleted.
      </p>
      <label className={styles['check']}>
        <input type="checkbox" checked={isForced} onChange={(event) => setIsForced(event.target.checked)} />
        {isDefault
          ? 'Force: another runtime becomes the default, and builds that were lost on it count as gone'
          : 'Force: builds that were lost on it count as gone'}
      </label>
      <Command text={sh`windlass delete re ${name} ${isForced ? ['--force'] : []}`} />
    </Question>
  )
}
