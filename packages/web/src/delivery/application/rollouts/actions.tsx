/** What can be done with a rollout. Each action asks first, and shows the command that does the same. */
import { useQuery } from '@tanstack/react-query'
import type { Rollout, RolloutAction, RolloutRevision } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Button, type ButtonTone } from '../../../parts/button.tsx'
import { Command } from '../../../parts/copy.tsx'
import { Question } from '../../../parts/forms/question.tsx'
import layout from '../../../parts/layout.module.css'
import { toProblem } from '../../../parts/problem.tsx'
import { sh } from '../../../parts/shell.ts'
import { When } from '../../../parts/when.tsx'
import { delivery } from '../../queries.ts'
import { useNoChange, type LiveApplication } from '../use-live.ts'
import { rolloutQueries, showRollout } from './queries.ts'

interface ActionWords {
  readonly label: string
  readonly what: string
  /** The word of the command line. */
  readonly word: string
  readonly tone?: ButtonTone
}

const ACTIONS = {
  resume: { label: 'Resume', what: 'It goes on with its next step.', word: 'resume', tone: 'primary' },
  pause: { label: 'Pause', what: 'It stays as it is until somebody resumes it.', word: 'pause' },
  'skip-current-step': { label: 'Skip the step', what: 'It goes on with the step after the current one.', word: 'skip' },
  'promote-full': {
    label: 'Promote',
    what: 'It is completed at once. Its remaining steps, pauses and analyses are left out.',
    word: 'promote',
  },
  retry: { label: 'Retry', what: 'It begins again with its first step.', word: 'retry', tone: 'primary' },
  restart: { label: 'Restart the pods', what: 'Its pods are replaced one after the other.', word: 'restart' },
  abort: { label: 'Abort', what: 'The stable revision gets all traffic again.', word: 'abort', tone: 'danger' },
} as const satisfies Readonly<Record<RolloutAction, ActionWords>>

/** In the order of the buttons. The table has all actions, and nothing else. */
const ORDER = Object.keys(ACTIONS) as readonly RolloutAction[]
const NOT_NOW = 'The state of the rollout does not allow it.'

interface RolloutProps {
  readonly live: LiveApplication
  readonly rollout: Rollout
}

/** What a user has chosen, and at which step, which may have passed before the user confirms it. */
interface Asked {
  readonly action: RolloutAction
  readonly step: number | undefined
}

export function RolloutActions({ live, rollout }: RolloutProps): ReactElement {
  const [asked, setAsked] = useState<Asked>()
  const noChange = useNoChange(live)
  const offOf = (action: RolloutAction): string | undefined =>
    noChange ?? (rollout.actions.includes(action) ? undefined : NOT_NOW)
  return (
    <div className={layout['buttons']} role="group" aria-label={`Actions of ${rollout.name}`}>
      {ORDER.map((action) => (
        <Button key={action} small off={offOf(action)} onClick={() => setAsked({ action, step: rollout.currentStep })}>
          {ACTIONS[action].label}
        </Button>
      ))}
      {asked !== undefined && (
        <ActionDialog live={live} rollout={rollout} asked={asked} off={offOf(asked.action)} onClose={() => setAsked(undefined)} />
      )}
    </div>
  )
}

interface DialogProps extends RolloutProps {
  readonly off: string | undefined
  readonly onClose: () => void
}

function ActionDialog({ live, rollout, asked, off, onClose }: DialogProps & { readonly asked: Asked }): ReactElement {
  const { id, reported } = live
  const { action, step } = asked
  const { namespace, name } = rollout
  const { label, what, word, tone = 'plain' }: ActionWords = ACTIONS[action]
  const act = async (): Promise<void> => showRollout(id, await delivery.rollouts.act(id, action, { namespace, name, step }))
  return (
    <Question title={`${label}: ${name}?`} verb={label} tone={tone} off={off} onDo={act} onClose={onClose}>
      <p>{what}</p>
      <Command text={sh`windlass gitops app rollout ${word} ${reported.runtime} ${reported.name} ${`${namespace}/${name}`}`} />
    </Question>
  )
}

export function RevisionDialog({
  live,
  rollout,
  revision,
  off,
  onClose,
}: DialogProps & { readonly revision: RolloutRevision }): ReactElement {
  const { id, reported } = live
  const { namespace, name } = rollout
  const number = revision.revision
  const { data, error } = useQuery(rolloutQueries.rollback(id, { namespace, name, revision: number }))
  const why = error === null ? (data === undefined ? 'The runtime is being asked.' : data.reason) : toProblem(error).message
  const restore = async (): Promise<void> =>
    showRollout(id, (await delivery.rollouts.rollBack(id, { namespace, name, revision: number })).rollout)
  return (
    <Question
      title={`Roll ${name} back to revision ${number}?`}
      verb="Roll back"
      off={off ?? why}
      onDo={restore}
      onClose={onClose}
    >
      <p>
        The pods of this revision
        {revision.createdAt !== undefined && (
          <>
            , made <When at={revision.createdAt} />,
          </>
        )}{' '}
        come back by the steps of the rollout. What Git says does not change, so the application is out of sync afterwards.
      </p>
      {data?.reason !== undefined && <p role="status">{data.reason}</p>}
      <Command
        text={sh`windlass gitops app rollout rollback ${reported.runtime} ${reported.name} ${`${namespace}/${name}`} --revision ${number}`}
      />
    </Question>
  )
}
