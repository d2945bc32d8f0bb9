/** Approvals of all builds: those that the reader may decide first, decided together with one comment. */
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { ApprovalItem } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Link, useSearch } from 'wouter'
import { useNow } from '../looks/clock.ts'
import { formatSpan } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { TextArea } from '../parts/field.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem, toProblem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { Table } from '../parts/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { When } from '../parts/when.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { useTopics } from '../server/stream.ts'
import { useAway } from '../shell/away-bar.tsx'
import { Page } from '../shell/page.tsx'
import { tell } from '../shell/toasts.tsx'
import { paths } from '../url/paths.ts'
import styles from './approvals.module.css'

type State = 'open' | 'decided'
type Decision = 'approve' | 'deny'

export function Approvals(): ReactElement {
  const state: State = new URLSearchParams(useSearch()).get('state') === 'decided' ? 'decided' : 'open'
  return (
    <Page title="Approvals">
      <Tabs
        label="Approvals by state"
        tabs={[
          { label: 'Waiting', href: paths.approvals(), isCurrent: state === 'open' },
          { label: 'Decided', href: `${paths.approvals()}?state=decided`, isCurrent: state === 'decided' },
        ]}
      />
      <ApprovalList key={state} state={state} />
    </Page>
  )
}

const refresh = (): void => void queryClient.invalidateQueries({ queryKey: ['approvals'] })
const keyOf = ({ build, step }: ApprovalItem): string => `${build.id}/${step}`
const nameOf = ({ build, step }: ApprovalItem): string => `${step === '' ? 'the start' : step} of #${build.number}`

function ApprovalList({ state }: { readonly state: State }): ReactElement {
  const list = useInfiniteQuery(queries.approvals(state))
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [refused, setRefused] = useState<readonly string[]>([])
  useTopics(['account'], ({ event }) => {
    if (event === 'counts') refresh()
  })
  if (list.isPending) return <Loading rows={5} what="approvals" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const items = list.data.pages.flatMap((page) => page.items)
  if (items.length === 0)
    return (
      <>
        <Refused lines={refused} />
        <Empty action={state === 'open' && <Command text="windlass get builds --status pending-approval" />}>
          {state === 'open' ? 'No build waits for an approval.' : 'No approval has been decided yet.'}
        </Empty>
      </>
    )
  const sorted = [...items.filter(({ may }) => may), ...items.filter(({ may }) => !may)]
  const toggle = (key: string): void => setSelected(selected.symmetricDifference(new Set([key])))
  return (
    <div className={styles['stack']}>
      {state === 'open' && (
        <DecisionBar
          items={sorted.filter((item) => selected.has(keyOf(item)))}
          onDone={(lines) => {
            setRefused(lines)
            setSelected(new Set())
          }}
        />
      )}
      <Refused lines={refused} />
      {state === 'open' ? <OpenTable items={sorted} selected={selected} onToggle={toggle} /> : <DecidedTable items={items} />}
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show more approvals
        </Button>
      )}
    </div>
  )
}

interface OpenTableProps {
  readonly items: readonly ApprovalItem[]
  readonly selected: ReadonlySet<string>
  readonly onToggle: (key: string) => void
}

function OpenTable({ items, selected, onToggle }: OpenTableProps): ReactElement {
  const now = useNow()
  return (
    <Table
      caption="Approvals that wait"
      rows={items}
      keyOf={keyOf}
      columns={[
        {
          head: 'Select',
          cell: (item) =>
            item.may ? (
              <input
                type="checkbox"
                checked={selected.has(keyOf(item))}
                onChange={() => onToggle(keyOf(item))}
                aria-label={`Select ${nameOf(item)}`}
              />
            ) : (
              'not yours'
            ),
        },
        { head: 'Step', cell: ({ step }) => <bdi>{step === '' ? 'the start' : step}</bdi> },
        { head: 'Build', cell: BuildLink },
        { head: 'Waits for', cell: ({ expiresAt }) => `${formatSpan(Math.max(0, expiresAt - now))} more` },
        { head: 'Next', cell: ({ next }) => <bdi>{next.join(', ')}</bdi> },
      ]}
    />
  )
}

function DecidedTable({ items }: { readonly items: readonly ApprovalItem[] }): ReactElement {
  return (
    <Table
      caption="Approvals that are decided"
      rows={items}
      keyOf={keyOf}
      columns={[
        { head: 'Step', cell: ({ step }) => <bdi>{step === '' ? 'the start' : step}</bdi> },
        { head: 'Build', cell: BuildLink },
        { head: 'Decision', cell: ({ decision }) => decision ?? '' },
        { head: 'By', cell: ({ by }) => <bdi>{by?.name ?? ''}</bdi> },
        { head: 'Comment', cell: ({ comment }) => <bdi>{comment ?? ''}</bdi> },
        { head: 'When', cell: ({ decidedAt }) => decidedAt !== undefined && <When at={decidedAt} /> },
      ]}
    />
  )
}

function BuildLink({ build }: ApprovalItem): ReactElement {
  return (
    <Link href={paths.build(build.id)}>
      <bdi>
        #{build.number} {build.pipeline}
      </bdi>
    </Link>
  )
}

/** Approvals that could not be decided, each with its reason. They stay when the list empties. */
function Refused({ lines }: { readonly lines: readonly string[] }): ReactElement {
  return (
    <div role="alert">
      {lines.map((line) => (
        <p key={line}>
          <bdi>{line}</bdi>
        </p>
      ))}
    </div>
  )
}

const DONE: Readonly<Record<Decision, string>> = { approve: 'Approved', deny: 'Denied' }

interface DecisionBarProps {
  readonly items: readonly ApprovalItem[]
  /** Gets a line for each approval that could not be decided. */
  readonly onDone: (refused: readonly string[]) => void
}

/** Decides the selected approvals one after the other, with one comment. */
function DecisionBar({ items, onDone }: DecisionBarProps): ReactElement {
  const away = useAway()
  const [comment, setComment] = useState('')
  const decide = useMutation({
    mutationFn: async (decision: Decision) => {
      const refused: string[] = []
      for (const item of items) {
        const input = { ...(item.step !== '' && { step: item.step }), ...(comment.trim() !== '' && { comment: comment.trim() }) }
        await client.builds[decision](item.build.id, input).catch((error: unknown) => {
          refused.push(`${nameOf(item)}: ${toProblem(error).message}`)
        })
      }
      return { refused, count: items.length - refused.length }
    },
    onSuccess: ({ refused, count }, decision) => {
      if (count > 0) tell({ text: `${DONE[decision]} ${plural(count, 'approval')}.` })
      if (refused.length === 0) setComment('')
      onDone(refused)
    },
    onSettled: refresh,
  })
  const off = away ?? (items.length === 0 ? 'No approval is selected.' : undefined)
  return (
    <div className={styles['bar']} role="group" aria-label="Decision">
      <TextArea label="Comment" rows={2} maxLength={2_000} value={comment} onChange={(event) => setComment(event.target.value)} />
      <div className={styles['buttons']}>
        <Button tone="primary" off={off} isBusy={decide.isPending} onClick={() => decide.mutate('approve')}>
          Approve
        </Button>
        <Button tone="danger" off={off} isBusy={decide.isPending} onClick={() => decide.mutate('deny')}>
          Deny
        </Button>
        <span>{plural(items.length, 'approval')} selected</span>
      </div>
      {items.map(({ build, step }) => (
        <Command key={`${build.id}/${step}`} text={sh`windlass approve ${build.id} ${step === '' ? [] : [step]}`} />
      ))}
    </div>
  )
}
