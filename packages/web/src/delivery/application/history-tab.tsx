/** The last deployments of an application. Each can be applied again. */
import type { ApplicationDeployment } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Empty } from '../../parts/empty.tsx'
import layout from '../../parts/layout.module.css'
import { Loading } from '../../parts/loading.tsx'
import { sh } from '../../parts/shell.ts'
import { Table } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'
import { shortRevision } from '../sources.ts'
import { RollbackDialog } from './rollback-dialog.tsx'
import { useNoOperation, type LiveApplication } from './use-live.ts'

const AUTOMATIC =
  'Argo CD syncs the application by itself, and would undo a rollback. Turn its automatic sync off first, or revert the commit.'

export function HistoryTab({ live }: { readonly live: LiveApplication }): ReactElement {
  const { now, reported, away } = live
  const [asked, setAsked] = useState<ApplicationDeployment>()
  const noOperation = useNoOperation(live)
  if (now === undefined)
    return away?.kind === 'asked' ? (
      <Loading rows={4} what="the history" />
    ) : (
      <Empty>The history is known while the runtime is connected.</Empty>
    )
  const off = noOperation ?? (now.isAutomatic ? AUTOMATIC : undefined)
  return (
    <section className={layout['stack']} aria-label="History">
      {now.isAutomatic && <p className={layout['note']}>{AUTOMATIC}</p>}
      {now.history.length === 0 ? (
        <Empty>The application has no deployment yet.</Empty>
      ) : (
        <Table
          caption="Deployments"
          rows={now.history}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Deployment', cell: ({ id }) => `${id}${id === now.history[0]?.id ? ', the last one' : ''}` },
            {
              head: 'Revision',
              cell: ({ revisions }) => <bdi className="mono">{revisions.map((one) => shortRevision(one)).join(', ')}</bdi>,
            },
            { head: 'When', cell: ({ at }) => at !== undefined && <When at={at} /> },
            { head: 'By', cell: ({ by }) => <bdi>{by ?? 'Argo CD'}</bdi> },
            {
              head: 'Actions',
              cell: (deployment) => (
                <Button
                  small
                  off={off}
                  aria-label={`Roll back to deployment ${deployment.id}`}
                  onClick={() => setAsked(deployment)}
                >
                  Roll back
                </Button>
              ),
            },
          ]}
        />
      )}
      <Command text={sh`windlass gitops app get ${reported.runtime} ${reported.name}`} />
      {asked !== undefined && <RollbackDialog live={live} deployment={asked} off={off} onClose={() => setAsked(undefined)} />}
    </section>
  )
}
