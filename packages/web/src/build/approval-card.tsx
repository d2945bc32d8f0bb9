/** Approvals that a build waits for, what follows them, and the decisions that were made. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import type { Approval, Build } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { useNow } from '../looks/clock.ts'
import { formatHour, formatSpan } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { TextArea } from '../parts/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { command } from '../parts/shell.ts'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { ChangesSinceApproved } from './approval-changes.tsx'
import styles from './card.module.css'

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
        {decidedAt !== undefined && ` at ${formatHour(decidedAt)}`}
        {comment === undefined ? '.' : ': '}
        {comment !== undefined && <bdi>{comment}</bdi>}
      </p>
    </section>
  )
}

const VERBS = { approve: 'Approve', deny: 'Deny' } as const
type Decision = keyof typeof VERBS
/** Which decisions the setting of the account asks about once more. */
const ASKED = { none: [], all: ['approve', 'deny'], approve: ['approve'], reject: ['deny'] } as const satisfies Record<
  string,
  readonly Decision[]
>

function Card({ build, approval }: { readonly build: Build; readonly approval: Approval }): ReactElement {
  const now = useNow()
  const away = useAway()
  const state = useSession()
  const [comment, setComment] = useState('')
  const [asking, setAsking] = useState<Decision>()
  const { data: open } = useQuery(queries.openApprovals())
  const { data: settings } = useQuery(queries.settings())
  const item = open?.items.find((one) => one.build.id === build.id && one.step === approval.step)
  const decide = useMutation({
    mutationFn: (decision: Decision) =>
      client.builds[decision](build.id, {
        ...(approval.step !== '' && { step: approval.step }),
        ...(comment.trim() !== '' && { comment: comment.trim() }),
      }),
    // Another person was faster: the card shows their decision.
    onSettled: () => {
      setAsking(undefined)
      void queryClient.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] === 'approvals' || queryKey[1] === build.id,
      })
    },
  })
  const isDecided = isFault(decide.error) && decide.error.code === 'approval-decided'
  const forbidden =
    whyNot(state.kind === 'in' ? state.session : undefined, 'decide-approvals') ??
    (item?.may === false ? 'You may not decide this approval.' : undefined)
  const what = whatOf(approval)
  const asked: readonly Decision[] = ASKED[settings?.approvalConfirmation ?? 'none']
  const choose = (decision: Decision): void => (asked.includes(decision) ? setAsking(decision) : decide.mutate(decision))
  return (
    <section className={styles['approval']} aria-label={`Approval of ${what}`}>
      <h2>
        Needs approval: <bdi>{what}</bdi> waits since {formatHour(approval.waitingSince)}, for{' '}
        {formatSpan(approval.expiresAt - now)} more.
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
        <Button tone="primary" off={away ?? forbidden} isBusy={decide.isPending} onClick={() => choose('approve')}>
          Approve
        </Button>
        <Button tone="danger" off={away ?? forbidden} isBusy={decide.isPending} onClick={() => choose('deny')}>
          Deny
        </Button>
      </div>
      <Command text={command`windlass approve ${build.id} ${approval.step === '' ? [] : [approval.step]}`} />
      {asking !== undefined && (
        <Dialog
          isOpen
          onClose={() => setAsking(undefined)}
          title={`${VERBS[asking]} ${what} of #${build.number}?`}
          actions={
            <>
              <Button onClick={() => setAsking(undefined)}>Leave it</Button>
              <Button
                tone={asking === 'deny' ? 'danger' : 'primary'}
                isBusy={decide.isPending}
                onClick={() => decide.mutate(asking)}
              >
                {VERBS[asking]} {what}
              </Button>
            </>
          }
        >
          <p>The decision cannot be changed.</p>
        </Dialog>
      )}
    </section>
  )
}
