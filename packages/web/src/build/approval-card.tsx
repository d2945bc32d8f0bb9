/** Approvals that a build waits for, and their decision. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import type { Approval, Build } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { useNow } from '../looks/clock.ts'
import { formatHour, formatSpan } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { TextArea } from '../parts/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import styles from './build.module.css'

export function ApprovalCards({ build }: { readonly build: Build }): ReactElement {
  const waiting = (build.approvals ?? []).filter(({ decision }) => decision === undefined)
  return (
    <>
      {waiting.map((approval) => (
        <Card key={approval.step} build={build} approval={approval} />
      ))}
    </>
  )
}

type Decision = 'approve' | 'deny'

function Card({ build, approval }: { readonly build: Build; readonly approval: Approval }): ReactElement {
  const now = useNow()
  const away = useAway()
  const state = useSession()
  const [comment, setComment] = useState('')
  const { data: open } = useQuery(queries.openApprovals())
  const item = open?.items.find((one) => one.build.id === build.id && one.step === approval.step)
  const decide = useMutation({
    mutationFn: (decision: Decision) =>
      client.builds[decision](build.id, {
        ...(approval.step !== '' && { step: approval.step }),
        ...(comment.trim() !== '' && { comment: comment.trim() }),
      }),
    // Another person was faster: the card shows their decision.
    onSettled: () =>
      void queryClient.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] === 'approvals' || queryKey[1] === build.id,
      }),
  })
  const isDecided = isFault(decide.error) && decide.error.code === 'approval-decided'
  const forbidden =
    whyNot(state.kind === 'in' ? state.session : undefined, 'decide-approvals') ??
    (item?.may === false ? 'You may not decide this approval.' : undefined)
  const what = approval.step === '' ? 'the build' : approval.step
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
      <TextArea label="Comment" rows={2} maxLength={2_000} value={comment} onChange={(event) => setComment(event.target.value)} />
      {decide.error !== null && !isDecided && <Problem error={decide.error} />}
      <div className={styles['buttons']}>
        <Button tone="primary" off={away ?? forbidden} isBusy={decide.isPending} onClick={() => decide.mutate('approve')}>
          Approve
        </Button>
        <Button tone="danger" off={away ?? forbidden} isBusy={decide.isPending} onClick={() => decide.mutate('deny')}>
          Deny
        </Button>
      </div>
      <Command text={`windlass approve ${build.id}${approval.step === '' ? '' : ` ${approval.step}`}`} />
    </section>
  )
}
