/** The runtimes with their health, the worst first, and the agents that serve them. */
import { useQuery } from '@tanstack/react-query'
import type { Runtime } from '@windlass/protocol'
import { useRef, type ReactElement } from 'react'
import { Link, useLocation } from 'wouter'
import { lookOfHealth } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { HEALTH_MS, queries } from '../server/queries.ts'
import { worstFirst } from '../shell/findings.ts'
import { useListCursor } from '../shell/list-cursor.ts'
import { Page } from '../shell/page.tsx'
import { useShortcuts } from '../shell/shortcuts.ts'
import { useHidden, useOff } from '../shell/use-off.ts'
import { paths } from '../url/paths.ts'
import { useParam } from '../url/search.ts'
import { AgentTable } from './agents/agent-table.tsx'
import { ConnectCluster } from './agents/connect-cluster.tsx'
import styles from './fleet.module.css'
import { loadOf } from './load/load-text.ts'

export function Runtimes(): ReactElement {
  const [connect, setConnect] = useParam('connect')
  const off = useOff('manage-runners')
  const forbidden = useHidden('manage-runners')
  return (
    <Page
      title="Runtimes"
      actions={
        <Button off={off} onClick={() => setConnect('true')}>
          Connect a cluster
        </Button>
      }
    >
      <RuntimeList />
      <h2>Agents</h2>
      <AgentTable />
      <Command text="windlass get runtimes" />
      <ConnectCluster isOpen={connect !== undefined && forbidden === undefined} onClose={() => setConnect(undefined)} />
    </Page>
  )
}

function RuntimeList(): ReactElement {
  const [, go] = useLocation()
  const { data, error, isPending, refetch } = useQuery({ ...queries.runtimes(), refetchInterval: HEALTH_MS })
  const frame = useRef<HTMLUListElement>(null)
  const runtimes = (data?.items ?? []).toSorted((one, other) => worstFirst(rankOf(one), rankOf(other)))
  const { index, move, onFocus } = useListCursor(
    runtimes.map(({ id }) => id),
    frame,
  )
  const chosen = runtimes[index]
  useShortcuts('Runtimes', [
    { keys: 'j', does: 'Next runtime', run: () => move(1) },
    { keys: 'k', does: 'Previous runtime', run: () => move(-1) },
    { keys: 'Enter', does: 'Open the runtime', run: () => chosen && go(paths.runtime(chosen.name)) },
  ])
  if (isPending) return <Loading rows={4} what="runtimes" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (runtimes.length === 0)
    return (
      <Empty action={<Command text="windlass runner init" />}>
        There are no runtimes, so no build can run. Connect a cluster, or install a Runner with the command.
      </Empty>
    )
  return (
    <ul ref={frame} className={styles['list']} aria-label="Runtimes" onFocus={onFocus}>
      {runtimes.map((runtime) => (
        <RuntimeRow key={runtime.id} runtime={runtime} isCurrent={runtime === chosen} />
      ))}
    </ul>
  )
}

/** A runtime of a server that sends no health comes last. */
function rankOf({ health }: Runtime): { readonly level: 'ok' | 'warning' | 'error' } {
  return { level: health?.level ?? 'ok' }
}

function RuntimeRow({ runtime, isCurrent }: { readonly runtime: Runtime; readonly isCurrent: boolean }): ReactElement {
  const { id, name, type, agent, isDefault, health } = runtime
  return (
    <li className={styles['row']} data-key={id} data-current={isCurrent} data-level={health?.level}>
      <Status look={lookOfHealth(health?.level)} />
      <div className={styles['main']}>
        <p className={styles['what']}>
          <Link href={paths.runtime(name)} className={styles['name'] ?? ''}>
            <bdi>{name}</bdi>
          </Link>
          {isDefault && <span className={styles['tag']}>default</span>}
          <span className="quiet">{type}</span>
          {agent !== undefined && (
            <Link href={paths.agent(agent)} className={styles['aside'] ?? ''}>
              <bdi>{agent}</bdi>
            </Link>
          )}
        </p>
        <p className={styles['why']} data-health>
          <bdi>{health?.sentence ?? 'The server does not report the health of runtimes.'}</bdi>
        </p>
      </div>
      <p className={styles['load']}>{loadOf(runtime)}</p>
    </li>
  )
}
