/** Approvals of all builds: those that the reader may decide first. */
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ApprovalItem } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Link, useSearch } from 'wouter'
import { useNow } from '../looks/clock.ts'
import { formatSpan } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { useTopics } from '../server/stream.ts'
import { Page } from '../shell/page.tsx'
import { paths } from '../url/paths.ts'
import styles from './approvals.module.css'
import { DecisionBar, keyOf, nameOf, refresh, RowButtons, type Refusal } from './decide.tsx'

type State = 'open' | 'decided'

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

function ApprovalList({ state }: { readonly state: State }): ReactElement {
  const list = useInfiniteQuery(queries.approvals(state))
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [refused, setRefused] = useState<readonly Refusal[]>([])
  useTopics(['account'], ({ event }) => {
    if (event === 'counts') refresh()
  })
  if (list.isPending) return <Loading rows={5} what="approvals" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const items = list.data.pages.flatMap((page) => page.items)
  if (items.length === 0)
    return (
      <>
        <Refused refused={refused} />
        <Empty action={state === 'open' && <Command text="windlass get builds --status pending-approval" />}>
          {state === 'open' ? 'No build waits for an approval.' : 'No approval has been decided yet.'}
        </Empty>
      </>
    )
  const sorted = [...items.filter(({ may }) => may), ...items.filter(({ may }) => !may)]
  const chosen = sorted.filter((item) => selected.has(keyOf(item)))
  // What failed stays selected, so that it can be tried again with the same comment.
  const finish = (failed: readonly Refusal[]): void => {
    setRefused(failed)
    setSelected(new Set(failed.map(({ item }) => keyOf(item))))
  }
  return (
    <div className={styles['stack']}>
      {state === 'open' && chosen.length > 0 && <DecisionBar items={chosen} onDone={finish} />}
      <Refused refused={refused} />
      {state === 'open' ? (
        <OpenTable
          items={sorted}
          selected={selected}
          onToggle={(key) => setSelected(selected.symmetricDifference(new Set([key])))}
          onDone={setRefused}
        />
      ) : (
        <DecidedTable items={items} />
      )}
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
  readonly onDone: (refused: readonly Refusal[]) => void
}

function OpenTable({ items, selected, onToggle, onDone }: OpenTableProps): ReactElement {
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
            ) : null,
        },
        { head: 'Step', cell: ({ step }) => <bdi>{step === '' ? 'the start' : step}</bdi> },
        { head: 'Build', cell: BuildLink },
        { head: 'Asked', cell: ({ waitingSince }) => <When at={waitingSince} /> },
        { head: 'Expires in', cell: ({ expiresAt }) => formatSpan(Math.max(0, expiresAt - now)) },
        { head: 'Then runs', cell: ({ next }) => <bdi>{next.join(', ')}</bdi> },
        { head: 'Decide', cell: (item) => (item.may ? <RowButtons item={item} onDone={onDone} /> : 'not yours') },
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
function Refused({ refused }: { readonly refused: readonly Refusal[] }): ReactElement {
  return (
    <div role="alert">
      {refused.map(({ item, reason }) => (
        <p key={keyOf(item)}>
          <bdi>
            {nameOf(item)}: {reason}
          </bdi>
        </p>
      ))}
    </div>
  )
}
