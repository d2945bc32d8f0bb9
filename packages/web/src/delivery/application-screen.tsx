/** One application: why it is not healthy or not synced, its last sync, where it comes from, and its objects in the cluster. */
import { useQuery } from '@tanstack/react-query'
import type { ApplicationDetails, SyncOperation } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link, useParams } from 'wouter'
import { Status } from '../looks/status.tsx'
import { formatSpan } from '../looks/time.ts'
import { Command } from '../parts/copy.tsx'
import { Definitions } from '../parts/definitions.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { StatusLine } from '../parts/forms/status-line.tsx'
import { sh } from '../parts/shell.ts'
import { When } from '../parts/when.tsx'
import { Page, type Favicon } from '../shell/page.tsx'
import { paths } from '../url/paths.ts'
import styles from './delivery.module.css'
import { deliveryQueries } from './queries.ts'
import { ResourceTable } from './resource-table.tsx'
import { describeDestination, describeSource, shortRevision } from './sources.ts'
import { lookOfHealth, lookOfPhase, lookOfSync } from './states.ts'

const FAVICONS: Readonly<Record<string, Favicon>> = { ok: 'ok', bad: 'bad', run: 'run', stop: 'stop' }

export function ApplicationScreen(): ReactElement {
  const { runtime, namespace, name } = useParams<Record<'runtime' | 'namespace' | 'name', string>>()
  const { data, error, isPending, refetch } = useQuery(deliveryQueries.application(`${runtime}/${namespace}/${name}`))
  return (
    <Page
      title={name}
      heading={
        <>
          <Link href={paths.applications()}>Applications</Link> / <bdi>{name}</bdi>
        </>
      }
      favicon={data === undefined ? 'windlass' : (FAVICONS[lookOfHealth(data.health).tone] ?? 'wait')}
    >
      {isPending && <Loading rows={8} what="the application" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <Content application={data} />}
    </Page>
  )
}

function Content({ application }: { readonly application: ApplicationDetails }): ReactElement {
  const { health, sync, why, since, isDeleting, conditions, images, resources, resourceCount } = application
  return (
    <div className={layout['stack']}>
      <StatusLine look={lookOfHealth(health)}>
        {lookOfHealth(health).word} since <When at={since} />
        {isDeleting && ', being deleted'}. <Status look={lookOfSync(sync)} />
      </StatusLine>
      {why !== undefined && (
        <p>
          <bdi>{why}</bdi>
        </p>
      )}
      <Facts application={application} />
      {application.operation !== undefined && <Operation operation={application.operation} />}
      {conditions.length > 0 && (
        <>
          <h2>Problems</h2>
          <ul className={layout['tight']}>
            {conditions.map(({ type, message, at }) => (
              <li key={`${type} ${message}`}>
                <strong>{type}</strong> <bdi>{message}</bdi> {at !== undefined && <When at={at} />}
              </li>
            ))}
          </ul>
        </>
      )}
      <h2>Resources</h2>
      <ResourceTable resources={resources} count={resourceCount} />
      {images.length > 0 && (
        <>
          <h2>Images</h2>
          <ul className={styles['images']}>
            {images.map((image) => (
              <li key={image}>
                <code>{image}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      <Command text={commandOf(application)} />
    </div>
  )
}

function commandOf({ runtime, namespace, name }: ApplicationDetails): string {
  return sh`windlass describe application ${`${runtime}/${namespace}/${name}`}`
}

function Facts({ application }: { readonly application: ApplicationDetails }): ReactElement {
  const { sources, revisions, runtime, namespace, project, isAutomatic, reportedAt, createdAt } = application
  return (
    <Definitions
      entries={[
        ...sources.map((source, index) => {
          const revision = revisions[index]
          return [
            sources.length === 1 ? 'Source' : `Source ${index + 1}`,
            <bdi key="source">
              {describeSource(source)}
              {source.revision !== undefined && `, follows ${source.revision}`}
              {revision !== undefined && `, compared with ${shortRevision(revision)}`}
            </bdi>,
          ] as const
        }),
        ['Deploys to', <bdi key="destination">{describeDestination(application)}</bdi>],
        ['Runtime', <bdi key="runtime">{`${runtime}, namespace ${namespace}`}</bdi>],
        ['Project of Argo CD', <bdi key="project">{project}</bdi>],
        ['Syncs', isAutomatic ? 'by itself' : 'by hand'],
        ['Created', <When key="created" at={createdAt} />],
        ['Reported', <When key="reported" at={reportedAt} />],
      ]}
    />
  )
}

function Operation({ operation }: { readonly operation: SyncOperation }): ReactElement {
  const { phase, message, startedAt, finishedAt, by, retries, revisions = [] } = operation
  const took = startedAt !== undefined && finishedAt !== undefined ? formatSpan(Math.max(0, finishedAt - startedAt)) : undefined
  return (
    <>
      <h2>{phase === 'running' || phase === 'terminating' ? 'Sync in progress' : 'Last sync'}</h2>
      <p className={layout['facts']}>
        <Status look={lookOfPhase(phase)} />
        {startedAt !== undefined && (
          <span>
            started <When at={startedAt} />
          </span>
        )}
        {took !== undefined && <span>took {took}</span>}
        <span>
          by <bdi>{by ?? 'Argo CD'}</bdi>
        </span>
        {revisions.length > 0 && (
          <span>
            revision <bdi className="mono">{revisions.map((one) => shortRevision(one)).join(', ')}</bdi>
          </span>
        )}
        {retries !== undefined && retries > 0 && <span>tried again {retries} times</span>}
      </p>
      {message !== undefined && (
        <p>
          <bdi>{message}</bdi>
        </p>
      )}
    </>
  )
}
