/** One agent: whether it calls, its version, its runtimes, and what can be done with it. */
import { useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { Agent } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { useParams } from 'wouter'
import { lookOfAgent } from '../../looks/states.ts'
import { useNow } from '../../looks/clock.ts'
import { formatSpan } from '../../looks/time.ts'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Definitions } from '../../parts/definitions.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import { StatusLine } from '../../parts/forms/status-line.tsx'
import { When } from '../../parts/when.tsx'
import { queries } from '../../server/queries.ts'
import { ChecksCard } from '../../runtimes/checks-card.tsx'
import { usePaletteActions } from '../../shell/palette/palette-actions.ts'
import { Page } from '../../shell/page.tsx'
import { useOff } from '../../shell/use-off.ts'
import { NewTokenDialog, RenameDialog } from './agent-dialogs.tsx'
import { RuntimeLinks } from './agent-table.tsx'
import styles from '../fleet.module.css'
import { fleet } from '../queries.ts'
import { isOtherRelease } from '../versions.ts'

export function AgentScreen(): ReactElement {
  const { '*': name = '' } = useParams<{ '*'?: string }>()
  const { data, error, isPending, refetch } = useQuery(fleet.agent(name))
  return (
    <Page title={name} heading={<bdi>{name}</bdi>} actions={data && <AgentActions agent={data} />}>
      {isPending && <Loading rows={6} what="the agent" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <AgentFacts agent={data} />}
    </Page>
  )
}

function AgentActions({ agent: { name } }: { readonly agent: Agent }): ReactElement {
  const [asked, setAsked] = useState<'name' | 'token'>()
  const off = useOff('manage-runners')
  usePaletteActions(() => [
    { id: 'agent rename', group: 'Actions', label: 'Rename the agent', note: name, off, run: () => setAsked('name') },
    { id: 'agent token', group: 'Actions', label: 'Make a new token', note: name, off, run: () => setAsked('token') },
  ])
  return (
    <>
      <Button off={off} onClick={() => setAsked('name')}>
        Rename
      </Button>
      <Button off={off} onClick={() => setAsked('token')}>
        New token
      </Button>
      {asked === 'name' && <RenameDialog name={name} onClose={() => setAsked(undefined)} />}
      {asked === 'token' && <NewTokenDialog name={name} onClose={() => setAsked(undefined)} />}
    </>
  )
}

function AgentFacts({ agent }: { readonly agent: Agent }): ReactElement {
  const now = useNow()
  const { data: status } = useQuery(queries.status())
  const { id, executor, protocol, version, runtimes, serverUrl, message, lastSeenAt, createdAt, tasks } = agent
  return (
    <div className={styles['stack']}>
      <StatusLine look={lookOfAgent(agent.status)}>{sentenceOf(agent, now)}</StatusLine>
      {isOtherRelease(agent, status?.version) && (
        <p>
          The agent has version <bdi>{version}</bdi>, the server {status?.version}. Upgrade the server first, then the agent with
          its chart.
        </p>
      )}
      <Definitions
        entries={[
          ['Runtimes', runtimes.length === 0 ? 'none' : <RuntimeLinks runtimes={runtimes} />],
          ['Tasks in hand', tasks],
          ['Version', version && <bdi>{version}</bdi>],
          ['Server', status?.version],
          ['Protocol', protocol && `v${protocol}`],
          ['Executor', executor && <bdi>{executor}</bdi>],
          ['Reaches server at', serverUrl && <bdi>{serverUrl}</bdi>],
          ['Says', message && <bdi>{message}</bdi>],
          ['Last seen', lastSeenAt === undefined ? 'never' : <When at={lastSeenAt} />],
          ['Registered', <When key="registered" at={createdAt} />],
          [
            'Id',
            <span key="id" className="mono">
              {id}
            </span>,
          ],
        ]}
      />
      <ChecksCard agent={agent.name} />
      <Command text={sh`windlass get agents ${agent.name}`} />
    </div>
  )
}

function sentenceOf({ status, lastSeenAt, runtimes }: Agent, now: number): string {
  if (status === 'never-seen') return 'The agent has never connected. Check that it is installed and can reach the server.'
  if (status === 'offline' && lastSeenAt !== undefined)
    return `The agent has been silent for ${formatSpan(now - lastSeenAt)}. Builds of its runtimes wait.`
  return `The agent is connected and serves ${plural(runtimes.length, 'runtime')}.`
}
