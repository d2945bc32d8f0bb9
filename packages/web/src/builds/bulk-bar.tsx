/** Actions on the selected builds. A build that cannot be changed is told with its reason. */
import { useMutation } from '@tanstack/react-query'
import type { Build, BuildActionResults } from '@windlass/protocol'
import { isFinalBuild, plural } from '@windlass/plan'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { copyText } from '../parts/copy.tsx'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { usePaletteActions } from '../shell/palette-actions.ts'
import { useShortcuts } from '../shell/shortcuts.ts'
import { tell } from '../shell/toasts.tsx'
import styles from './builds.module.css'

/** The server takes at most this many builds at once. */
const MOST = 200
type Action = 'restart' | 'restart-failed' | 'terminate'

const DONE: Readonly<Record<Action, string>> = { restart: 'Restarted', 'restart-failed': 'Restarted', terminate: 'Terminated' }

interface BulkBarProps {
  readonly builds: readonly Build[]
  readonly onDone: () => void
}

/** Returns the actions on builds, each with the reason why none of the builds can take it. */
function actionsOn(
  builds: readonly Build[],
): { readonly action: Action; readonly label: string; readonly off: string | undefined }[] {
  const tooMany = builds.length > MOST ? `At most ${MOST} builds can be changed at once.` : undefined
  const ended = builds.filter(({ status }) => isFinalBuild(status))
  const noneEnded = ended.length === 0 ? 'None of the selected builds has ended.' : undefined
  const noneFailed = builds.some(({ status }) => status === 'error') ? undefined : 'None of the selected builds has failed.'
  const allEnded = ended.length === builds.length ? 'All selected builds have ended.' : undefined
  return [
    { action: 'restart', label: 'Restart', off: tooMany ?? noneEnded },
    { action: 'restart-failed', label: 'Restart from the failed steps', off: tooMany ?? noneFailed },
    { action: 'terminate', label: 'Terminate', off: tooMany ?? allEnded },
  ]
}

export function BulkBar({ builds, onDone }: BulkBarProps): ReactElement | null {
  const away = useAway()
  const state = useSession()
  const [refused, setRefused] = useState<readonly string[]>([])
  const act = useMutation({
    mutationFn: (action: Action) => client.builds.act({ action, ids: builds.map(({ id }) => id) }),
    onSuccess: ({ items }, action) => {
      const problems = problemsOf(items, builds)
      setRefused(problems)
      const count = items.length - problems.length
      tell({
        text: `${DONE[action]} ${plural(count, 'build')}.${problems.length > 0 ? ` ${problems.length} could not be changed.` : ''}`,
      })
      if (problems.length === 0) onDone()
      void queryClient.invalidateQueries({ queryKey: ['builds'] })
    },
  })
  const leave = (): void => {
    setRefused([])
    onDone()
  }
  const session = state.kind === 'in' ? state.session : undefined
  const actions = actionsOn(builds).map((one) => ({
    ...one,
    off: away ?? whyNot(session, one.action === 'terminate' ? 'end-builds' : 'start-builds') ?? one.off,
  }))
  usePaletteActions(() =>
    builds.length === 0
      ? []
      : actions.map(({ action, label, off }) => ({
          id: `action selected ${action}`,
          group: 'Actions',
          label: `${label}: ${plural(builds.length, 'selected build')}`,
          off,
          run: () => act.mutate(action),
        })),
  )
  useShortcuts('Selection', builds.length === 0 ? [] : [{ keys: 'Escape', does: 'Select nothing', run: leave }])
  if (builds.length === 0) return null
  return (
    <div className={styles['bulk']} role="group" aria-label="Selected builds">
      <b>{builds.length} selected</b>
      {actions.map(({ action, label, off }) => (
        <Button
          key={action}
          small
          tone={action === 'terminate' ? 'danger' : 'plain'}
          off={off}
          isBusy={act.isPending}
          onClick={() => act.mutate(action)}
        >
          {label}
        </Button>
      ))}
      <Button small tone="quiet" onClick={() => void copyText(builds.map(({ id }) => id).join('\n'))}>
        Copy ids
      </Button>
      <Button small tone="quiet" onClick={leave}>
        Select nothing
      </Button>
      {act.error !== null && <Problem error={act.error} />}
      {refused.length > 0 && (
        <ul tabIndex={0} aria-label="Builds that could not be changed">
          {refused.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** Returns a line for each build that refused the action. */
function problemsOf(items: BuildActionResults['items'], builds: readonly Build[]): string[] {
  const numbers = new Map(builds.map(({ id, number }) => [id, number]))
  return items.flatMap(({ id, problem }) => (problem === undefined ? [] : [`#${numbers.get(id) ?? id}: ${problem.message}`]))
}
