/** What can be done with a build, each with the command that does the same. */
import { isFinalBuild } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { Bug, Ellipsis, RotateCw, Square } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../parts/button.tsx'
import { copyText } from '../parts/copy.tsx'
import { Menu, type MenuEntry } from '../parts/menu.tsx'
import { command } from '../parts/shell.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { usePaletteActions } from '../shell/palette-actions.ts'
import { useShortcuts } from '../shell/shortcuts.ts'
import { tell } from '../shell/toasts.tsx'
import { paths } from '../url/paths.ts'
import { copySummary } from './copy-summary.ts'
import { toggleEndNotice, useIsWatched } from './notify-end.ts'
import { useRestart } from './restart.ts'
import { Terminate } from './terminate.tsx'

interface ActionsProps {
  readonly build: Build
  /** The step that is shown. */
  readonly step: string | undefined
}

export function Actions({ build, step }: ActionsProps): ReactElement {
  const [isAsking, setIsAsking] = useState(false)
  const [, go] = useLocation()
  const restart = useRestart(build)
  const state = useSession()
  const away = useAway()
  const isFinal = isFinalBuild(build.status)
  const isWatched = useIsWatched(build.id)
  const forbidden = whyNot(state.kind === 'in' ? state.session : undefined, 'end-builds')
  const noEnd = isFinal ? 'The build has ended.' : (away ?? forbidden)
  const noFailed = build.status === 'error' ? undefined : 'The build has not failed.'
  const icon = <RotateCw size={14} aria-hidden />
  const restarts: MenuEntry[] = [
    {
      label: 'Restart',
      icon,
      keys: 's',
      off: restart.off,
      note: `windlass restart ${build.id}`,
      onChoose: () => restart.run({}),
    },
    {
      label: 'Restart from the failed steps',
      icon,
      off: restart.off ?? noFailed,
      note: `windlass restart ${build.id} --from-failed`,
      onChoose: () => restart.run({ from: 'failed' }),
    },
    ...(step === undefined || step.startsWith('.')
      ? []
      : [
          {
            label: `Restart from ${step}`,
            icon,
            off: restart.off,
            note: command`windlass restart ${build.id} --from ${step}`,
            onChoose: () => restart.run({ from: step }),
          },
        ]),
  ]
  const debug: MenuEntry = {
    label: 'Debug',
    icon: <Bug size={14} aria-hidden />,
    keys: 'd',
    note: isFinal ? `windlass restart ${build.id} --debug` : `windlass debug ${build.id}`,
    onChoose: () => go(paths.debug(build.id)),
  }
  const terminate: MenuEntry = {
    label: 'Terminate the build',
    icon: <Square size={14} aria-hidden />,
    keys: 't',
    tone: 'danger',
    off: noEnd,
    note: `windlass terminate ${build.id}`,
    onChoose: () => setIsAsking(true),
  }
  const copies: MenuEntry[] = [
    {
      label: 'Copy the address',
      keys: 'y',
      onChoose: () =>
        void copyText(location.href).then((isDone) =>
          tell({ text: isDone ? 'Copied the address.' : 'The browser does not allow copying here.' }),
        ),
    },
    { label: 'Copy a summary as Markdown', onChoose: () => void copySummary(build) },
    { label: 'Copy the id', onChoose: () => void copyText(build.id) },
  ]
  const notice: MenuEntry = {
    label: isWatched ? 'Do not tell me when it ends' : 'Tell me when it ends',
    keys: 'm',
    off: isFinal ? 'The build has ended.' : undefined,
    isMarked: isWatched,
    onChoose: () => void toggleEndNotice(build),
  }
  const all = [...restarts, debug, terminate, notice, ...copies]
  usePaletteActions(() =>
    all.map((entry) => ({
      id: `action ${entry.label}`,
      group: 'Actions',
      label: entry.label,
      note: entry.note,
      off: entry.off,
      run: entry.onChoose,
    })),
  )
  useShortcuts(
    'Actions',
    all.flatMap(({ keys, label, off, onChoose }) =>
      keys === undefined ? [] : [{ keys, does: label, run: () => (off === undefined ? onChoose() : tell({ text: off })) }],
    ),
  )
  return (
    <>
      {!isFinal && (
        <Button tone="danger" off={noEnd} onClick={() => setIsAsking(true)}>
          Terminate
        </Button>
      )}
      {isFinal && (
        <Button off={restart.off} isBusy={restart.isBusy} icon={icon} onClick={() => restart.run({})}>
          Restart
        </Button>
      )}
      <Menu
        button={
          <Button aria-label="Actions">
            <Ellipsis size={16} aria-hidden />
          </Button>
        }
        groups={[restarts, [debug], [terminate], [notice], copies]}
      />
      <Terminate build={build} isOpen={isAsking} onClose={() => setIsAsking(false)} />
    </>
  )
}
