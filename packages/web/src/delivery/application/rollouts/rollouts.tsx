/** The rollouts of an application: how far each is with its steps, its analyses and revisions, and what can be done with it. */
import { useQuery } from '@tanstack/react-query'
import type { Rollout, RolloutRevision } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Status } from '../../../looks/status.tsx'
import { Button } from '../../../parts/button.tsx'
import cells from '../../../parts/cells.module.css'
import { Command } from '../../../parts/copy.tsx'
import { StatusLine } from '../../../parts/forms/status-line.tsx'
import layout from '../../../parts/layout.module.css'
import { Loading } from '../../../parts/loading.tsx'
import { Problem } from '../../../parts/problem.tsx'
import { sh } from '../../../parts/shell.ts'
import { Table } from '../../../parts/table.tsx'
import { When } from '../../../parts/when.tsx'
import { useNoChange, type LiveApplication } from '../use-live.ts'
import { RevisionDialog, RolloutActions } from './actions.tsx'
import { RolloutHistory } from './history.tsx'
import { lookOfRollout, lookOfStep } from './looks.ts'
import { rolloutQueries } from './queries.ts'

export function Rollouts({ live }: { readonly live: LiveApplication }): ReactElement {
  const { id, reported } = live
  const { data, error, isPending, refetch } = useQuery(rolloutQueries.list(id))
  return (
    <section className={layout['stack']} aria-label="Rollouts">
      <h2>Rollouts</h2>
      {isPending && <Loading rows={4} what="the rollouts" />}
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {error === null &&
        data?.map((rollout) => <One key={`${rollout.namespace}/${rollout.name}`} live={live} rollout={rollout} />)}
      <Command text={sh`windlass gitops app rollouts ${reported.runtime} ${reported.name}`} />
    </section>
  )
}

interface OneProps {
  readonly live: LiveApplication
  readonly rollout: Rollout
}

function One({ live, rollout }: OneProps): ReactElement {
  const { name, phase, message, steps, analyses } = rollout
  return (
    <section className={layout['tight']} aria-label={`Rollout ${name}`}>
      <StatusLine look={lookOfRollout(phase)}>
        <bdi>{name}</bdi>: {lookOfRollout(phase).word.toLowerCase()}
        {rollout.isAborted && ', aborted'}
        {message !== undefined && (
          <>
            . <bdi>{message}</bdi>
          </>
        )}
      </StatusLine>
      <Facts rollout={rollout} />
      <RolloutActions live={live} rollout={rollout} />
      {steps.length > 0 && (
        <Table
          caption={`Steps of ${name}`}
          rows={steps.map((step, index) => ({ ...step, index }))}
          keyOf={({ index }) => index}
          columns={[
            { head: 'Step', cell: ({ index }) => index + 1 },
            { head: 'What', cell: ({ text }) => <bdi>{text}</bdi> },
            { head: 'State', cell: ({ state }) => <Status look={lookOfStep(state)} /> },
          ]}
        />
      )}
      {analyses.length > 0 && (
        <Table
          caption={`Analyses of ${name}`}
          rows={analyses}
          keyOf={(run) => run.name}
          columns={[
            { head: 'Analysis', cell: (run) => <bdi>{run.name}</bdi> },
            { head: 'Of', cell: ({ of }) => of },
            { head: 'Status', cell: ({ status }) => status },
            { head: 'Message', cell: (run) => <bdi className={cells['why']}>{run.message}</bdi> },
          ]}
        />
      )}
      <Revisions live={live} rollout={rollout} />
      <RolloutHistory runtime={live.reported.runtime} rollout={rollout} />
    </section>
  )
}

function Facts({ rollout }: { readonly rollout: Rollout }): ReactElement {
  const { namespace, strategy, weight, revision, replicas, services } = rollout
  return (
    <p className={layout['facts']}>
      <span>
        namespace <bdi>{namespace}</bdi>
      </span>
      <span>{strategy}</span>
      {weight !== undefined && <span>weight {weight} %</span>}
      {revision !== undefined && <span>revision {revision}</span>}
      <span>
        {replicas.available} of {replicas.wanted} pods available
      </span>
      {services.length > 0 && (
        <span>
          services <bdi>{services.join(', ')}</bdi>
        </span>
      )}
    </p>
  )
}

function Revisions({ live, rollout }: OneProps): ReactElement | null {
  const [asked, setAsked] = useState<RolloutRevision>()
  const noChange = useNoChange(live)
  const { name, revisions } = rollout
  if (revisions.length === 0) return null
  const offOf = ({ isCurrent }: RolloutRevision): string | undefined =>
    noChange ?? (isCurrent ? 'The revision is the current one.' : undefined)
  return (
    <>
      <Table
        caption={`Revisions of ${name}`}
        rows={revisions}
        keyOf={({ revision }) => revision}
        columns={[
          {
            head: 'Revision',
            cell: ({ revision, isCurrent, isStable }) =>
              [String(revision), isCurrent ? 'current' : '', isStable ? 'stable' : ''].filter(Boolean).join(', '),
          },
          { head: 'ReplicaSet', cell: (one) => <bdi>{one.name}</bdi> },
          { head: 'Made', cell: ({ createdAt }) => createdAt !== undefined && <When at={createdAt} /> },
          {
            head: 'Actions',
            cell: (one) => (
              <Button
                small
                off={offOf(one)}
                aria-label={`Roll back to revision ${one.revision} of ${name}`}
                onClick={() => setAsked(one)}
              >
                Roll back
              </Button>
            ),
          },
        ]}
      />
      {asked !== undefined && (
        <RevisionDialog live={live} rollout={rollout} revision={asked} off={offOf(asked)} onClose={() => setAsked(undefined)} />
      )}
    </>
  )
}
