/** The releases of a product: each with its steps, why it waits, and what can be done about it. */
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { LIVE_RELEASE_STATUSES, type Promotion, type Release, type ReleaseStep } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Link } from 'wouter'
import { Status, StatusMark } from '../../looks/status.tsx'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Question } from '../../parts/forms/question.tsx'
import layout from '../../parts/layout.module.css'
import cells from '../../parts/cells.module.css'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { When } from '../../parts/when.tsx'
import { queryClient } from '../../server/query-client.ts'
import { useOff } from '../../shell/use-off.ts'
import { paths } from '../../url/paths.ts'
import styles from '../delivery.module.css'
import { delivery, deliveryQueries } from '../queries.ts'
import { shortRevision } from '../sources.ts'
import { lookOfRelease, lookOfStep } from '../states.ts'

export function Releases({ product }: { readonly product: string }): ReactElement {
  const list = useInfiniteQuery(deliveryQueries.releases(product))
  if (list.isPending) return <Loading rows={3} what="releases" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const items = list.data.pages.flatMap((page) => page.items)
  if (items.length === 0) return <Empty>The product has no release yet.</Empty>
  return (
    <div className={layout['tight']}>
      <ol className={styles['releases']} aria-label="Releases">
        {items.map((release) => (
          <ReleaseItem key={release.id} release={release} />
        ))}
      </ol>
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show more releases
        </Button>
      )}
    </div>
  )
}

function ReleaseItem({ release }: { readonly release: Release }): ReactElement {
  const { number, status, version, flow, from, why, createdBy, createdAt, steps } = release
  // A release repeats the sentence of what it waits for.
  const isToldBelow = steps.some((step) => [step, ...step.promotions].some((one) => one.why === why))
  return (
    <li aria-label={`Release #${number}`}>
      <div className={styles['head']}>
        <Status look={lookOfRelease(status)} />
        <strong>#{number}</strong>
        {version !== undefined && <bdi>{version}</bdi>}
        <span className={cells['more']}>
          from <bdi>{from}</bdi>
          {flow !== undefined && (
            <>
              {' '}
              by the flow <bdi>{flow}</bdi>
            </>
          )}
          , started by <bdi>{createdBy}</bdi> <When at={createdAt} />
        </span>
        <Actions release={release} />
      </div>
      {why !== undefined && !isToldBelow && (
        <p className={layout['note']}>
          <bdi>{why}</bdi>
        </p>
      )}
      <ol className={styles['steps']}>
        {steps.map((step) => (
          <Step key={step.environment} step={step} />
        ))}
      </ol>
    </li>
  )
}

function Step({ step }: { readonly step: ReleaseStep }): ReactElement {
  const { environment, state, why, promotions } = step
  return (
    <li>
      <div className={styles['head']}>
        <StatusMark look={lookOfStep(state)} beside />
        <bdi>{environment}</bdi>
        <span className={cells['more']}>{lookOfStep(state).word}</span>
      </div>
      {why !== undefined && promotions.every((promotion) => promotion.why !== why) && <bdi className={cells['why']}>{why}</bdi>}
      {promotions.map((promotion) => (
        <PromotionLine key={promotion.application} promotion={promotion} />
      ))}
    </li>
  )
}

function PromotionLine({ promotion }: { readonly promotion: Promotion }): ReactElement {
  const { application, state, revision, isNew, pull, why, builds } = promotion
  const [runtime = '', namespace = '', name = ''] = application.split('/')
  return (
    <div className={styles['promotion']}>
      <Link href={paths.application({ runtime, namespace, name })}>
        <bdi>{name}</bdi>
      </Link>{' '}
      <span className={cells['more']}>{lookOfStep(state).word}</span>{' '}
      {revision !== undefined && (
        <bdi className={cells['more']}>
          {isNew === false ? 'was at' : 'commit'} {shortRevision(revision)}
        </bdi>
      )}{' '}
      {pull !== undefined && <PullLink pull={pull} />}{' '}
      {builds.flatMap(({ hook, buildId }) =>
        buildId === undefined
          ? []
          : [
              <Link key={`${hook} ${buildId}`} href={paths.build(buildId)}>
                build {hook}
              </Link>,
            ],
      )}
      {why !== undefined && <bdi className={cells['why']}>{why}</bdi>}
    </div>
  )
}

/** The address comes from a forge, so that only those of the web are links. */
function PullLink({ pull: { number, url } }: { readonly pull: NonNullable<Promotion['pull']> }): ReactElement {
  const isWeb = /^https?:\/\//i.test(url)
  return isWeb ? (
    <a href={url} target="_blank" rel="noreferrer">
      pull request #{number}
    </a>
  ) : (
    <span>pull request #{number}</span>
  )
}

function Actions({ release }: { readonly release: Release }): ReactElement | null {
  const [isAsking, setIsAsking] = useState(false)
  const off = useOff('promote')
  const changed = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['applications'] })
  const retry = useMutation({ mutationFn: () => delivery.releases.retry(release.id), onSuccess: changed })
  const isLive = LIVE_RELEASE_STATUSES.some((one) => one === release.status)
  if (release.status === 'failed')
    return (
      <>
        <Button small off={off} isBusy={retry.isPending} onClick={() => retry.mutate()}>
          Try again
        </Button>
        {retry.error !== null && <Problem error={retry.error} />}
      </>
    )
  if (!isLive || release.status === 'terminating') return null
  return (
    <>
      <Button small off={off} onClick={() => setIsAsking(true)}>
        Terminate
      </Button>
      {isAsking && (
        <Question
          title={`Terminate the release #${release.number}?`}
          verb="Terminate"
          off={off}
          onDo={async () => {
            await delivery.releases.terminate(release.id)
            await changed()
          }}
          onClose={() => setIsAsking(false)}
        >
          <p>Its commits stay, and its pull requests stay open. Environments that it has not reached stay as they are.</p>
        </Question>
      )}
    </>
  )
}
