/** The agents of the account. */
import { useQuery } from '@tanstack/react-query'
import type { Agent } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { lookOfAgent } from '../../looks/states.ts'
import { Status } from '../../looks/status.tsx'
import { Command } from '../../parts/copy.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Table } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'
import { queries } from '../../server/queries.ts'
import { paths } from '../../url/paths.ts'
import { isOtherRelease } from '../versions.ts'

export function AgentTable(): ReactElement {
  const { data, error, isPending, refetch } = useQuery(queries.agents())
  const { data: status } = useQuery(queries.status())
  if (isPending) return <Loading rows={2} what="agents" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data.items.length === 0)
    return (
      <Empty action={<Command text="windlass runner init" />}>
        No agent is registered. The agent of a cluster starts its builds.
      </Empty>
    )
  return (
    <Table
      caption="Agents"
      rows={data.items}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Status', cell: (agent) => <Status look={lookOfAgent(agent.status)} /> },
        { head: 'Agent', cell: AgentLink },
        { head: 'Runtimes', cell: RuntimeLinks },
        {
          head: 'Version',
          cell: (agent) => (
            <>
              <bdi>{agent.version ?? ''}</bdi>
              {isOtherRelease(agent, status?.version) && <span className="quiet"> (server {status?.version})</span>}
            </>
          ),
        },
        { head: 'Last seen', cell: ({ lastSeenAt }) => (lastSeenAt === undefined ? 'never' : <When at={lastSeenAt} />) },
      ]}
    />
  )
}

function AgentLink({ name }: Agent): ReactElement {
  return (
    <Link href={paths.agent(name)}>
      <bdi>{name}</bdi>
    </Link>
  )
}

/** The runtimes that an agent serves, each as a link. */
export function RuntimeLinks({ runtimes }: Pick<Agent, 'runtimes'>): ReactElement {
  return (
    <>
      {runtimes.map((name, index) => (
        <span key={name}>
          {index > 0 && ', '}
          <Link href={paths.runtime(name)}>
            <bdi>{name}</bdi>
          </Link>
        </span>
      ))}
    </>
  )
}
