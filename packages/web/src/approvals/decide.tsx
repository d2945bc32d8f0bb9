/** Decides approvals: one from its row, or those that are selected, one after the other with one comment. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { ApprovalItem } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { DECISION_VERBS, decisionInput, isAskedAbout, type Decision } from '../build/approval/decision.ts'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { TextArea } from '../parts/forms/field.tsx'
import { toProblem } from '../parts/problem.tsx'
import { Question } from '../parts/forms/question.tsx'
import { sh } from '../parts/shell.ts'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { useAway } from '../shell/away-bar.tsx'
import { tell } from '../shell/toasts.tsx'
import styles from './approvals.module.css'

export const refresh = (): void => void queryClient.invalidateQueries({ queryKey: ['approvals'] })
export const keyOf = ({ build, step }: ApprovalItem): string => `${build.id}/${step}`
export const nameOf = ({ build, step }: ApprovalItem): string => `${step === '' ? 'the start' : step} of #${build.number}`

const DONE: Readonly<Record<Decision, string>> = { approve: 'Approved', deny: 'Denied' }

/** An approval that could not be decided. */
export interface Refusal {
  readonly item: ApprovalItem
  readonly reason: string
}

interface DecideProps {
  readonly items: readonly ApprovalItem[]
  readonly comment: string
  readonly onDone: (refused: readonly Refusal[]) => void
}

interface Decide {
  /** Decides the approvals, after a question if the account wants one. */
  readonly choose: (decision: Decision) => void
  readonly isPending: boolean
  /** The question that is open, if any. */
  readonly question: ReactElement | null
}

function useDecide({ items, comment, onDone }: DecideProps): Decide {
  const [asking, setAsking] = useState<Decision>()
  const { data: settings } = useQuery(queries.settings())
  const decide = useMutation({
    mutationFn: async (decision: Decision) => {
      const refused: Refusal[] = []
      for (const item of items) {
        await client.builds[decision](item.build.id, decisionInput(item.step, comment)).catch((error: unknown) => {
          refused.push({ item, reason: toProblem(error).message })
        })
      }
      return { refused, count: items.length - refused.length }
    },
    onSuccess: ({ refused, count }, decision) => {
      if (count > 0) tell({ text: `${DONE[decision]} ${plural(count, 'approval')}.` })
      onDone(refused)
    },
    onSettled: refresh,
  })
  const [first] = items
  const what = items.length === 1 && first !== undefined ? nameOf(first) : plural(items.length, 'approval')
  return {
    choose: (decision) => (isAskedAbout(decision, settings) ? setAsking(decision) : decide.mutate(decision)),
    isPending: decide.isPending,
    question:
      asking === undefined ? null : (
        <Question
          title={`${DECISION_VERBS[asking]} ${what}?`}
          verb={`${DECISION_VERBS[asking]} ${what}`}
          tone={asking === 'deny' ? 'danger' : 'primary'}
          onDo={() => decide.mutateAsync(asking)}
          onClose={() => setAsking(undefined)}
        >
          <p>{items.length === 1 ? 'The decision cannot be changed.' : 'The decisions cannot be changed.'}</p>
        </Question>
      ),
  }
}

interface RowProps {
  readonly item: ApprovalItem
  readonly onDone: (refused: readonly Refusal[]) => void
}

/** The buttons of one approval in the list. */
export function RowButtons({ item, onDone }: RowProps): ReactElement {
  const away = useAway()
  const { choose, isPending, question } = useDecide({ items: [item], comment: '', onDone })
  return (
    <div className={styles['row']}>
      <Button small off={away} isBusy={isPending} aria-label={`Approve ${nameOf(item)}`} onClick={() => choose('approve')}>
        Approve
      </Button>
      <Button small off={away} isBusy={isPending} aria-label={`Deny ${nameOf(item)}`} onClick={() => choose('deny')}>
        Deny
      </Button>
      {question}
    </div>
  )
}

interface BarProps {
  readonly items: readonly ApprovalItem[]
  readonly onDone: (refused: readonly Refusal[]) => void
}

/** Decides the selected approvals. */
export function DecisionBar({ items, onDone }: BarProps): ReactElement {
  const away = useAway()
  const [comment, setComment] = useState('')
  const { choose, isPending, question } = useDecide({ items, comment, onDone })
  return (
    <div className={styles['bar']} role="group" aria-label="Decision">
      <TextArea label="Comment" rows={2} maxLength={2_000} value={comment} onChange={(event) => setComment(event.target.value)} />
      <div className={styles['buttons']}>
        <Button tone="primary" off={away} isBusy={isPending} onClick={() => choose('approve')}>
          Approve
        </Button>
        <Button tone="danger" off={away} isBusy={isPending} onClick={() => choose('deny')}>
          Deny
        </Button>
        <span>{plural(items.length, 'approval')} selected</span>
      </div>
      {items.map((item) => (
        <Command key={keyOf(item)} text={sh`windlass approve ${item.build.id} ${item.step === '' ? [] : [item.step]}`} />
      ))}
      {question}
    </div>
  )
}
