/** Actions on the selected builds. Lists each build that could not be changed, with its reason. */
import { useMutation } from '@tanstack/react-query'
import type { Build, BuildActionResults } from '@windlass/protocol'
import { isFinalBuild, plural } from '@windlass/plan'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Problem } from '../parts/problem.tsx'
import { Question } from '../parts/forms/question.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { usePaletteActions } from '../shell/palette/palette-actions.ts'
import { useShortcuts } from '../shell/shortcuts.ts'
import { copyAndTell, tell } from '../shell/toasts.tsx'
import { useOff } from '../shell/use-off.ts'
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
  const noStart = useOff('start-builds')
  const noEnd = useOff('end-builds')
  const [isAsking, setIsAsking] = useState(false)
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
  const actions = actionsOn(builds).map((one) => ({
    ...one,
    off: (one.action === 'terminate' ? noEnd : noStart) ?? one.off,
    run: () => (one.action === 'terminate' ? setIsAsking(true) : act.mutate(one.action)),
  }))
  usePaletteActions(() =>
    builds.length === 0
      ? []
      : actions.map(({ action, label, off, run }) => ({
          id: `action selected ${action}`,
          group: 'Actions',
          label: `${label}: ${plural(builds.length, 'selected build')}`,
          off,
          run,
        })),
  )
  useShortcuts('Selection', builds.length === 0 ? [] : [{ keys: 'Escape', does: 'Select nothing', run: leave }])
  if (builds.length === 0) return null
  return (
    <div className={styles['bulk']} role="group" aria-label="Selected builds">
      <b>{builds.length} selected</b>
      {actions.map(({ action, label, off, run }) => (
        <Button
          key={action}
          small
          tone={action === 'terminate' ? 'danger' : 'plain'}
          off={off}
          isBusy={act.isPending}
          onClick={run}
        >
          {label}
        </Button>
      ))}
      <Button
        small
        tone="quiet"
        onClick={() => void copyAndTell(builds.map(({ id }) => id).join('\n'), plural(builds.length, 'id'))}
      >
        Copy ids
      </Button>
      <Button small tone="quiet" onClick={leave}>
        Select nothing
      </Button>
      {isAsking && (
        <Question
          title={`Terminate ${plural(builds.length, 'build')}?`}
          verb="Terminate"
          onDo={() => act.mutateAsync('terminate')}
          onClose={() => setIsAsking(false)}
        >
          <p>Their running steps are stopped, their hooks still run. Builds that have ended stay as they are.</p>
        </Question>
      )}
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
