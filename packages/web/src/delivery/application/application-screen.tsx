/** One application: what was reported of it, and over that what its runtime has now, with what can be done about it. */
import { useQuery } from '@tanstack/react-query'
import type { ApplicationDetails } from '@windlass/protocol'
import { Suspense, type ReactElement } from 'react'
import { Link, useParams } from 'wouter'
import { Command } from '../../parts/copy.tsx'
import { Loading } from '../../parts/loading.tsx'
import layout from '../../parts/layout.module.css'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { When } from '../../parts/when.tsx'
import { late } from '../../shell/late.tsx'
import { NotHere } from '../../shell/not-here.tsx'
import { Page, type Favicon } from '../../shell/page.tsx'
import { APPLICATION_PARTS, paths, type ApplicationPart } from '../../url/paths.ts'
import { deliveryQueries } from '../queries.ts'
import { lookOfHealth } from '../states.ts'
import { Actions } from './actions.tsx'
import { HistoryTab } from './history-tab.tsx'
import { Overview } from './overview.tsx'
import { useLive, type LiveApplication } from './use-live.ts'

const FAVICONS: Readonly<Record<string, Favicon>> = { ok: 'ok', bad: 'bad', run: 'run', stop: 'stop' }

/** A chunk of its own, because it has the writer of YAML. */
const DiffTab = late(async () => (await import('./diff-tab.tsx')).DiffTab)

export function ApplicationScreen(): ReactElement {
  const { runtime, namespace, name, part } = useParams<Record<'runtime' | 'namespace' | 'name', string> & { part?: string }>()
  const { data, error, isPending, refetch } = useQuery(deliveryQueries.application(`${runtime}/${namespace}/${name}`))
  const shown = APPLICATION_PARTS.find((one) => one === part)
  if (part !== undefined && shown === undefined) return <NotHere />
  if (data !== undefined) return <Loaded application={data} part={shown} />
  return (
    <Page title={name} heading={<Heading name={name} />}>
      {isPending && <Loading rows={8} what="the application" />}
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
    </Page>
  )
}

function Heading({ name }: { readonly name: string }): ReactElement {
  return (
    <>
      <Link href={paths.applications()}>Applications</Link> / <bdi>{name}</bdi>
    </>
  )
}

interface LoadedProps {
  readonly application: ApplicationDetails
  /** Undefined for the overview. */
  readonly part: ApplicationPart | undefined
}

function Loaded({ application, part }: LoadedProps): ReactElement {
  const live = useLive(application)
  const { name } = application
  const { health } = live.now ?? application
  const tab = (label: string, one?: ApplicationPart) => ({
    label,
    href: paths.application(application, one),
    isCurrent: part === one,
  })
  return (
    <Page
      title={name}
      heading={<Heading name={name} />}
      favicon={FAVICONS[lookOfHealth(health).tone] ?? 'wait'}
      actions={<Actions live={live} />}
    >
      <Away live={live} />
      <Tabs
        label="Parts of the application"
        tabs={[tab('Overview'), tab('Differences', 'diff'), { ...tab('History', 'history'), count: live.now?.history.length }]}
      />
      {part === undefined && <Overview live={live} />}
      {part === 'diff' && (
        <Suspense fallback={<Loading rows={6} what="the differences" />}>
          <DiffTab live={live} />
        </Suspense>
      )}
      {part === 'history' && <HistoryTab live={live} />}
    </Page>
  )
}

/** Says that what is shown was reported, and why it is not what the runtime has now. */
function Away({ live: { reported, away } }: { readonly live: LiveApplication }): ReactElement | null {
  if (away === undefined || away.kind === 'asked') return null
  if (away.kind === 'failed') return <Problem error={away.error} onRetry={away.retry} />
  const { runtime, name, reportedAt } = reported
  if (away.kind === 'offline')
    return (
      <p className={layout['warning']} role="status">
        The runtime <bdi>{runtime}</bdi> is not connected, so this is what it reported <When at={reportedAt} />.
      </p>
    )
  return (
    <div className={layout['warning']} role="status">
      <p>
        The runtime <bdi>{runtime}</bdi> has no tunnel, and the server never calls an ingress of a cluster, so this is what it
        reported <When at={reportedAt} />. The command line operates the application at the URL of the runtime:
      </p>
      <Command text={`${sh`windlass gitops app get ${runtime} ${name}`} --runtime-url URL`} />
    </div>
  )
}
