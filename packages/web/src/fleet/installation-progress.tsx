/** The installations that were reported since a time, with their events. */
import { useQuery } from '@tanstack/react-query'
import type { Installation } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { lookOfInstallation } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { Problem } from '../parts/problem.tsx'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { AgentTable } from './agent-table.tsx'
import styles from './fleet.module.css'
import { fleet } from './queries.ts'

/** Clocks of browsers and servers differ. Milliseconds. */
const SKEW_MS = 60_000

export function InstallationProgress({ since }: { readonly since: number }): ReactElement {
  const { data, error } = useQuery(fleet.installations())
  const agents = useQuery(queries.agents())
  const own = (data?.items ?? []).filter(({ createdAt }) => createdAt >= since - SKEW_MS)
  const isNew = agents.data?.items.some(({ createdAt }) => createdAt >= since - SKEW_MS) === true
  return (
    <>
      {data === undefined && error !== null && <Problem error={error} />}
      {own.length === 0 && !isNew && (
        <p className="quiet">Nothing is reported yet. This changes by itself once the command runs.</p>
      )}
      {own.map((installation) => (
        <OneInstallation key={installation.id} installation={installation} />
      ))}
      {isNew && <AgentTable />}
    </>
  )
}

function OneInstallation({ installation }: { readonly installation: Installation }): ReactElement {
  const { name, status, events, createdAt } = installation
  return (
    <section aria-label={`Installation of ${name ?? 'a cluster'}`} className={styles['installation']}>
      <p className={styles['facts']}>
        <Status look={lookOfInstallation(status)} />
        {name !== undefined && <bdi>{name}</bdi>}
        <span>
          started <When at={createdAt} />
        </span>
      </p>
      <ol role="log" aria-label="Events of the installation">
        {events.map(({ event, status: outcome, message, at }) => (
          <li key={`${at} ${event}`}>
            <Status look={lookOfInstallation(outcome)} />
            <span>
              {event.replaceAll('-', ' ')}
              {message !== undefined && <bdi className="quiet"> {message}</bdi>}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}
