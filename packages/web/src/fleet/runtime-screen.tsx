/** One runtime: its health in a sentence, what can be done about it, and its tabs. */
import { useQuery } from '@tanstack/react-query'
import type { Runtime } from '@windlass/protocol'
import { Suspense, type ReactElement } from 'react'
import { Link, useParams } from 'wouter'
import { lookOfHealth } from '../looks/states.ts'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { StatusLine } from '../parts/forms/status-line.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { When } from '../parts/when.tsx'
import { NotHere } from '../shell/not-here.tsx'
import { Page } from '../shell/page.tsx'
import { paths, readNamed } from '../url/paths.ts'
import styles from './fleet.module.css'
import { loadOf } from './load/load-text.ts'
import { fleet } from './queries.ts'
import { RuntimeActions } from './runtime-actions.tsx'
import { RUNTIME_TABS } from './runtime-tabs.ts'

export function RuntimeScreen(): ReactElement {
  const { '*': rest = '' } = useParams<{ '*'?: string }>()
  const { name, part } = readNamed(rest)
  const tab = RUNTIME_TABS.find((one) => one.part === part)
  const { data, error, isPending, refetch } = useQuery(fleet.runtime(name))
  if (tab === undefined) return <NotHere />
  return (
    <Page title={name} heading={<bdi>{name}</bdi>} actions={data && <RuntimeActions runtime={data} />}>
      {data !== undefined && <Head runtime={data} />}
      <Tabs
        label="Parts of the runtime"
        tabs={RUNTIME_TABS.map((one) => ({
          label: one.label,
          href: paths.runtime(name, one.part),
          isCurrent: one === tab,
        }))}
      />
      {isPending && <Loading rows={8} what="the runtime" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && (
        <Suspense fallback={<Loading rows={8} what={tab.label} />}>
          <tab.Content key={name} runtime={data} />
        </Suspense>
      )}
    </Page>
  )
}

function Head({ runtime }: { readonly runtime: Runtime }): ReactElement {
  const { name, type, agent, isDefault, version, changedBy, updatedAt } = runtime
  const { data: health = runtime.health } = useQuery(fleet.health(name))
  return (
    <>
      <StatusLine look={lookOfHealth(health?.level)}>
        <bdi data-health>{health?.sentence ?? 'The server does not report the health of runtimes.'}</bdi>
      </StatusLine>
      <p className={styles['facts']}>
        {isDefault && <span>default runtime</span>}
        <span>{type}</span>
        {agent !== undefined && (
          <span>
            agent{' '}
            <Link href={paths.agent(agent)}>
              <bdi>{agent}</bdi>
            </Link>
          </span>
        )}
        <span>{loadOf(runtime)}</span>
        <span>
          version {version}, by <bdi>{changedBy}</bdi> <When at={updatedAt} />
        </span>
      </p>
    </>
  )
}
