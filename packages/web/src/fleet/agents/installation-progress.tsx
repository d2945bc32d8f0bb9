/** The installations that were reported since a time, with their events, and the agent that they register. */
import { useQuery } from '@tanstack/react-query'
import type { Installation } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { lookOfAgent, lookOfInstallation } from '../../looks/states.ts'
import { Status } from '../../looks/status.tsx'
import { Problem } from '../../parts/problem.tsx'
import { When } from '../../parts/when.tsx'
import { queries } from '../../server/queries.ts'
import { paths } from '../../url/paths.ts'
import styles from '../fleet.module.css'
import { fleet } from '../queries.ts'

/** Clocks of browsers and servers differ. Milliseconds. */
const SKEW_MS = 60_000

interface ProgressProps {
  /** Installations that started before are of others. Epoch milliseconds. */
  readonly since: number
  /** Name of the agent that is installed. */
  readonly agent: string
}

export function InstallationProgress({ since, agent }: ProgressProps): ReactElement {
  const { data, error } = useQuery(fleet.installations())
  const { data: agents } = useQuery(queries.agents())
  const own = (data?.items ?? []).filter(({ createdAt }) => createdAt >= since - SKEW_MS)
  const registered = agents?.items.find(({ name }) => name === agent)
  return (
    <>
      {data === undefined && error !== null && <Problem error={error} />}
      {own.length === 0 && registered === undefined && (
        <p className="quiet">Nothing is reported yet. This changes by itself once the command runs.</p>
      )}
      {own.map((installation) => (
        <OneInstallation key={installation.id} installation={installation} />
      ))}
      {registered !== undefined && (
        <p className={styles['facts']}>
          <Status look={lookOfAgent(registered.status)} />
          <span>
            agent{' '}
            <Link href={paths.agent(registered.name)}>
              <bdi>{registered.name}</bdi>
            </Link>
          </span>
        </p>
      )}
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
