/** The states that a rollout had, as the reporter of its runtime has reported them. */
import { useQuery } from '@tanstack/react-query'
import type { Rollout } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Status } from '../../../looks/status.tsx'
import cells from '../../../parts/cells.module.css'
import { Table } from '../../../parts/table.tsx'
import { When } from '../../../parts/when.tsx'
import { lookOfRollout } from './looks.ts'
import { rolloutQueries } from './queries.ts'

interface HistoryProps {
  readonly runtime: string
  readonly rollout: Rollout
}

/** Nothing for a rollout that its runtime does not report. */
export function RolloutHistory({ runtime, rollout }: HistoryProps): ReactElement | null {
  const { namespace, name } = rollout
  const { data = [] } = useQuery(rolloutQueries.history({ runtime, namespace, name }))
  if (data.length === 0) return null
  return (
    <Table
      caption={`History of ${name}`}
      rows={data.map((moment, index) => ({ ...moment, index }))}
      keyOf={({ index }) => data.length - index}
      columns={[
        { head: 'When', cell: ({ at }) => <When at={at} /> },
        { head: 'Phase', cell: ({ phase }) => <Status look={lookOfRollout(phase)} /> },
        { head: 'Revision', cell: ({ revision }) => revision },
        { head: 'Step', cell: ({ currentStep }) => currentStep !== undefined && currentStep + 1 },
        { head: 'Weight', cell: ({ weight }) => weight !== undefined && `${weight} %` },
        { head: 'Message', cell: ({ message }) => <bdi className={cells['why']}>{message}</bdi> },
      ]}
    />
  )
}
