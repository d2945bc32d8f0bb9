/** Approvals that a build waits for, what follows them, and the decisions that were made. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import { RIGHTS, type Approval, type Build } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { useNow } from '../../looks/clock.ts'
import { formatMoment, formatSpan } from '../../looks/time.ts'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { TextArea } from '../../parts/forms/field.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Question } from '../../parts/forms/question.tsx'
import { sh } from '../../parts/shell.ts'
import { client } from '../../server/client.ts'
import { queries } from '../../server/queries.ts'
import { queryClient } from '../../server/query-client.ts'
import { useOff } from '../../shell/use-off.ts'
import { ChangesSinceApproved } from './approval-changes.tsx'
import styles from '../failure/card.module.css'
import { DECISION_VERBS, decisionInput, isAskedAbout, type Decision } from './decision.ts'

export function ApprovalCards({ build }: { readonly build: Build }): ReactElement {
  return (
    <>
      {(build.approvals ?? []).map((approval) =>
        approval.decision === undefined ? (
          <Card key={approval.step} build={build} approval={approval} />
        ) : (
          <Decided key={approval.step} approval={approval} />
        ),
      )}
    </>
  )
}

function whatOf({ step }: Approval): string {
  return step === '' ? 'the build' : step
}

/** A decision, whoever made it. */
function Decided({ approval }: { readonly approval: Approval }): ReactElement {
  const now = useNow()
  const { by, comment, decision, decidedAt } = approval
  return (
    <section className={styles['approval']} data-decided="true" aria-label={`Decision about ${whatOf(approval)}`}>
      <p role="status">
        <bdi>{whatOf(approval)}</bdi> was {decision}
        {by !== undefined && (
          <>
            {' by '}
            <bdi>{by.type === 'timeout' ? 'its time limit' : by.name}</bdi>
          </>
        )}
        {decidedAt !== undefined && `, ${formatMoment(decidedAt, now)}`}
        {comment === undefined ? '.' : ': '}
        {comment !== undefined && <bdi>{comment}</bdi>}
      </p>
    </section>
  )
}

function Card({ build, approval }: { readonly build: Build; readonly approval: Approval }): ReactElement {
  const now = useNow()
  const forbidden = useOff('decide-approvals')
  const [comment, setComment] = useState('')
  const [asking, setAsking] = useState<Decision>()
  const { data: open } = useQuery(queries.openApprovals())
  const { data: settings } = useQuery(queries.settings())
  const item = open?.items.find((one) => one.build.id === build.id && one.step === approval.step)
  const decide = useMutation({
    mutationFn: (decision: Decision) => client.builds[decision](build.id, decisionInput(approval.step, comment)),
    // Another person was faster: the card shows their decision.
    onSettled: () => {
      void queryClient.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] === 'approvals' || queryKey[1] === build.id,
      })
    },
  })
  const isDecided = isFault(decide.error) && decide.error.code === 'approval-decided'
  const notYours = `The role ${RIGHTS['decide-approvals'].role} for the pipeline or its project is needed to decide this approval.`
  const off = forbidden ?? (item?.may === false ? notYours : undefined)
  const what = whatOf(approval)
  const choose = (decision: Decision): void => (isAskedAbout(decision, settings) ? setAsking(decision) : decide.mutate(decision))
  return (
    <section className={styles['approval']} aria-label={`Approval of ${what}`}>
      <h2>
        Needs approval: <bdi>{what}</bdi>, waiting since {formatMoment(approval.waitingSince, now)}, expires in{' '}
        {formatSpan(approval.expiresAt - now)}.
      </h2>
      {item !== undefined && item.next.length > 0 && (
        <p>
          Next: <bdi>{item.next.join(', ')}</bdi>
        </p>
      )}
      <ChangesSinceApproved build={build} step={approval.step} />
      <TextArea label="Comment" rows={2} maxLength={2_000} value={comment} onChange={(event) => setComment(event.target.value)} />
      {decide.error !== null && !isDecided && <Problem error={decide.error} />}
      <div className={styles['buttons']}>
        <Button tone="primary" off={off} isBusy={decide.isPending} onClick={() => choose('approve')}>
          Approve
        </Button>
        <Button tone="danger" off={off} isBusy={decide.isPending} onClick={() => choose('deny')}>
          Deny
        </Button>
      </div>
      <Command text={sh`windlass approve ${build.id} ${approval.step === '' ? [] : [approval.step]}`} />
      {asking !== undefined && (
        <Question
          title={`${DECISION_VERBS[asking]} ${what} of #${build.number}?`}
          verb={`${DECISION_VERBS[asking]} ${what}`}
          tone={asking === 'deny' ? 'danger' : 'primary'}
          onDo={() => decide.mutateAsync(asking)}
          onClose={() => setAsking(undefined)}
        >
          <p>The decision cannot be changed.</p>
        </Question>
      )}
    </section>
  )
}
