/** The sync that runs, or the last one, with what it did to each object. */
import type { SyncedResource, SyncOperation } from '@windlass/protocol'
import type { ReactElement } from 'react'
import type { Look } from '../../looks/states.ts'
import { formatSpan } from '../../looks/time.ts'
import cells from '../../parts/cells.module.css'
import { StatusLine } from '../../parts/forms/status-line.tsx'
import layout from '../../parts/layout.module.css'
import { Table } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'
import { shortRevision } from '../sources.ts'
import { lookOfPhase } from '../states.ts'
import { fullNameOf, nameOf } from './objects.ts'
import type { LiveApplication } from './use-live.ts'

/** An operation that is written and that Argo CD has not begun. */
const ASKED: Look = { word: 'Waiting for Argo CD', shape: 'hourglass', tone: 'wait' }

export function Operation({ live: { now, reported } }: { readonly live: LiveApplication }): ReactElement | null {
  const { operation } = now ?? reported
  const isBusy = now?.isBusy ?? (operation?.phase === 'running' || operation?.phase === 'terminating')
  if (operation === undefined && !isBusy) return null
  return (
    <section className={layout['tight']} aria-label={isBusy ? 'Sync in progress' : 'Last sync'}>
      <h2>{isBusy ? 'Sync in progress' : 'Last sync'}</h2>
      <StatusLine look={operation === undefined ? ASKED : lookOfPhase(operation.phase)}>
        {operation === undefined ? 'Waits until Argo CD begins it.' : lookOfPhase(operation.phase).word}
      </StatusLine>
      {operation !== undefined && <Facts operation={operation} />}
      {operation?.message !== undefined && (
        <p>
          <bdi>{operation.message}</bdi>
        </p>
      )}
      {now !== undefined && now.results.length > 0 && <Results results={now.results} isOpen={isBusy} />}
    </section>
  )
}

function Facts({ operation }: { readonly operation: SyncOperation }): ReactElement {
  const { startedAt, finishedAt, by, retries, revisions = [] } = operation
  const took = startedAt !== undefined && finishedAt !== undefined ? formatSpan(Math.max(0, finishedAt - startedAt)) : undefined
  return (
    <p className={layout['facts']}>
      {startedAt !== undefined && (
        <span>
          started <When at={startedAt} />
        </span>
      )}
      {took !== undefined && <span>took {took}</span>}
      <span>
        by <bdi>{by ?? 'Argo CD'}</bdi>
      </span>
      {revisions.length > 0 && (
        <span>
          revision <bdi className="mono">{revisions.map((one) => shortRevision(one)).join(', ')}</bdi>
        </span>
      )}
      {retries !== undefined && retries > 0 && <span>tried again {retries} times</span>}
    </p>
  )
}

/** Results of a sync that has ended are folded, because most of them say that nothing went wrong. */
function Results({ results, isOpen }: { readonly results: readonly SyncedResource[]; readonly isOpen: boolean }): ReactElement {
  return (
    <details open={isOpen || undefined}>
      <summary>Results by object ({results.length})</summary>
      <Table
        caption="Results by object"
        rows={results}
        keyOf={(result) => `${fullNameOf(result)} ${result.hook ?? ''}`}
        columns={[
          { head: 'Object', cell: (result) => <bdi>{nameOf(result)}</bdi> },
          {
            head: 'Result',
            cell: ({ result, hook }) => <bdi>{hook === undefined ? result : `${hook} ${result}`}</bdi>,
          },
          { head: 'Message', cell: ({ message = '' }) => <bdi className={cells['why']}>{message}</bdi> },
        ]}
      />
    </details>
  )
}
