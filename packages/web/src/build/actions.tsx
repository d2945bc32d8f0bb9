/** What can be done with a build, each with the command that does the same. */
import { isFinalBuild } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { Bug, Ellipsis, RotateCw, Square } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Menu, type MenuEntry } from '../parts/floating/menu.tsx'
import { sh } from '../parts/shell.ts'
import { usePaletteActions } from '../shell/palette/palette-actions.ts'
import { useShortcuts } from '../shell/shortcuts.ts'
import { copyAndTell, tell } from '../shell/toasts.tsx'
import { useOff } from '../shell/use-off.ts'
import { paths } from '../url/paths.ts'
import { copySummary } from './failure/copy-summary.ts'
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
  const forbidden = useOff('end-builds')
  const isFinal = isFinalBuild(build.status)
  const isWatched = useIsWatched(build.id)
  const noEnd = isFinal ? 'The build has ended.' : forbidden
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
            note: sh`windlass restart ${build.id} --from ${step}`,
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
  const { pipeline } = build
  const places: MenuEntry[] =
    pipeline === undefined
      ? []
      : [
          { label: 'Open the pipeline', onChoose: () => go(paths.pipeline(pipeline)) },
          { label: 'Edit the pipeline', onChoose: () => go(paths.pipeline(pipeline, 'edit')) },
        ]
  const copies: MenuEntry[] = [
    { label: 'Copy the address', keys: 'y', onChoose: () => void copyAndTell(location.href, 'the address') },
    { label: 'Copy a summary as Markdown', onChoose: () => void copySummary(build) },
    { label: 'Copy the id', onChoose: () => void copyAndTell(build.id, 'the id') },
  ]
  const notice: MenuEntry = {
    label: isWatched ? 'Do not notify me when it ends' : 'Notify me when it ends',
    keys: 'm',
    off: isFinal ? 'The build has ended.' : undefined,
    isMarked: isWatched,
    onChoose: () => void toggleEndNotice(build),
  }
  const all = [...restarts, debug, terminate, notice, ...places, ...copies]
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
        groups={[restarts, [debug], [terminate], [notice], places, copies].filter((group) => group.length > 0)}
      />
      {isAsking && <Terminate build={build} onClose={() => setIsAsking(false)} />}
    </>
  )
}
