/** The state of the server: its health, what it stores and for how long, what waits, its settings, and the pause of builds. */
import { useQuery } from '@tanstack/react-query'
import type { SystemState } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { Findings } from '../fleet/agents/findings.tsx'
import { useNow } from '../looks/clock.ts'
import { lookOfHealth } from '../looks/states.ts'
import { formatSpan } from '../looks/time.ts'
import { Command } from '../parts/copy.tsx'
import { Definitions } from '../parts/definitions.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { StatusLine } from '../parts/forms/status-line.tsx'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { Page } from '../shell/page.tsx'
import { paths } from '../url/paths.ts'
import { Pause, PauseButton } from './pause.tsx'
import { Settings } from './settings-table.tsx'
import { Storage } from './storage.tsx'
import styles from './system.module.css'
import { systemQuery } from './system-query.ts'

export function SystemScreen(): ReactElement {
  const { data, error, isPending, refetch } = useQuery(systemQuery())
  return (
    <Page title="System" actions={data && <PauseButton settings={data.settings.current} />}>
      <ServerHealth />
      {isPending && <Loading rows={10} what="the system" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <State system={data} />}
      <Command text="windlass get system" />
    </Page>
  )
}

function ServerHealth(): ReactElement | null {
  const { data, error } = useQuery(queries.health())
  if (data === undefined) return error === null ? null : <Problem error={error} />
  return (
    <>
      <StatusLine look={lookOfHealth(data.level)}>
        <bdi data-health>{data.sentence}</bdi>
      </StatusLine>
      {data.findings.length > 0 && <Findings findings={data.findings} none="" />}
    </>
  )
}

function State({ system }: { readonly system: SystemState }): ReactElement {
  const now = useNow()
  const { version, store, agents, queue, settings } = system
  return (
    <div className={styles['stack']}>
      <Pause settings={settings.current} waiting={queue.waiting} />
      <section className={styles['stack']} aria-label="Versions and load">
        <h2>Versions and load</h2>
        <Definitions
          entries={[
            ['Version', version],
            ['Database', `${store.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'} ${store.version}`],
            ['Its answer takes', `${store.pingMs.toFixed(1)} ms`],
            [
              'Agents',
              <Link key="agents" href={paths.runtimes()}>
                {agents.online} of {agents.total} online
              </Link>,
            ],
            ['Their versions', agents.versions.join(', ')],
            ['Builds', `${queue.running} run, ${queue.waiting} wait`],
            ['Tasks not taken', String(queue.tasks)],
            ['Oldest of them', queue.oldestTaskAt === undefined ? '' : formatSpan(now - queue.oldestTaskAt)],
          ]}
        />
        <Servers replicas={system.replicas} version={version} />
      </section>
      <Storage system={system} />
      <Settings settings={settings} />
      <section className={styles['stack']} aria-label="Support">
        <h2>Support</h2>
        <p className="quiet">
          The server makes no support bundle. These commands collect the same facts: the state of the server, and the diagnostics
          of a Runner in an archive without secrets.
        </p>
        <Command text="windlass get system -o json > system.json" />
        <Command text="windlass runner bundle -f runner-bundle.tar.gz" />
      </section>
    </div>
  )
}

function Servers({ replicas, version }: Pick<SystemState, 'replicas' | 'version'>): ReactElement {
  return (
    <Table
      caption="Servers"
      rows={replicas}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Server', cell: ({ id }) => <bdi className="mono">{id === 'this' ? 'this one' : id}</bdi> },
        {
          head: 'Version',
          cell: (replica) => (
            <>
              <bdi>{replica.version ?? 'unknown'}</bdi>
              {replica.version !== version && <span className="quiet"> (this one: {version})</span>}
            </>
          ),
        },
        { head: 'Event loop, late by', cell: ({ lagMs }) => (lagMs === undefined ? '' : `${lagMs} ms`) },
        { head: 'Seen', cell: ({ seenAt }) => <When at={seenAt} /> },
      ]}
    />
  )
}
