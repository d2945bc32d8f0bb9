/** What an application is and how it is: why it is not healthy or not synced, its sync, where it comes from, and its objects. */
import type { ApplicationDetails, ApplicationResource } from '@windlass/protocol'
import { Suspense, type ReactElement } from 'react'
import { Status } from '../../looks/status.tsx'
import { Command } from '../../parts/copy.tsx'
import { Definitions } from '../../parts/definitions.tsx'
import { StatusLine } from '../../parts/forms/status-line.tsx'
import layout from '../../parts/layout.module.css'
import { Loading } from '../../parts/loading.tsx'
import { sh } from '../../parts/shell.ts'
import { When } from '../../parts/when.tsx'
import { late } from '../../shell/late.tsx'
import { describeDestination, describeSource, shortRevision } from '../sources.ts'
import { lookOfHealth, lookOfSync } from '../states.ts'
import { Images } from './images.tsx'
import { Operation } from './operation.tsx'
import { ResourceTree } from './resource-tree.tsx'
import type { LiveApplication } from './use-live.ts'

/** A chunk of its own, because few applications have rollouts. */
const Rollouts = late(async () => (await import('./rollouts/rollouts.tsx')).Rollouts)

const isRollout = ({ group, kind }: ApplicationResource): boolean => group === 'argoproj.io' && kind === 'Rollout'

export function Overview({ live }: { readonly live: LiveApplication }): ReactElement {
  const { reported, now, id } = live
  const { health, sync, isDeleting, conditions } = now ?? reported
  // What was reported says since when and why, as long as it is the same state.
  const isSame = health === reported.health && sync === reported.sync
  const why = isSame ? reported.why : now?.healthMessage
  return (
    <div className={layout['stack']}>
      <StatusLine look={lookOfHealth(health)}>
        {lookOfHealth(health).word}
        {isSame && (
          <>
            {' since '}
            <When at={reported.since} />
          </>
        )}
        {isDeleting && ', being deleted'}. <Status look={lookOfSync(sync)} />
      </StatusLine>
      {why !== undefined && (
        <p>
          <bdi>{why}</bdi>
        </p>
      )}
      <Facts
        application={{ ...reported, ...(now !== undefined && { revisions: now.revisions, isAutomatic: now.isAutomatic }) }}
      />
      <Operation live={live} />
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
      {now?.resources.some(isRollout) === true && (
        <Suspense fallback={<Loading rows={4} what="the rollouts" />}>
          <Rollouts live={live} />
        </Suspense>
      )}
      <h2>Resources</h2>
      <ResourceTree live={live} />
      {reported.images.length > 0 && (
        <>
          <h2>Images</h2>
          <Images id={id} images={reported.images} />
        </>
      )}
      <Command text={sh`windlass describe application ${id}`} />
    </div>
  )
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
