/** One product: what runs in each environment, and its releases. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { Product, ProductApplication, ProductPlace } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link, useParams } from 'wouter'
import { Status } from '../../looks/status.tsx'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Menu } from '../../parts/floating/menu.tsx'
import layout from '../../parts/layout.module.css'
import cells from '../../parts/cells.module.css'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import { queryClient } from '../../server/query-client.ts'
import { Page } from '../../shell/page.tsx'
import { useOff } from '../../shell/use-off.ts'
import { paths } from '../../url/paths.ts'
import styles from '../delivery.module.css'
import { delivery, deliveryQueries } from '../queries.ts'
import { shortRevision } from '../sources.ts'
import { lookOfHealth, lookOfSync } from '../states.ts'
import { Releases } from './releases.tsx'

export function ProductScreen(): ReactElement {
  const { name } = useParams<{ name: string }>()
  const { data, error, isPending, refetch } = useQuery(deliveryQueries.product(name))
  const promote = usePromote(name)
  return (
    <Page
      title={name}
      heading={
        <>
          <Link href={paths.products()}>Products</Link> / <bdi>{name}</bdi>
        </>
      }
      actions={data !== undefined && <Promote product={data} promote={promote} />}
    >
      {isPending && <Loading rows={8} what="the product" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {promote.error !== null && <Problem error={promote.error} />}
      {data !== undefined && <Content product={data} />}
    </Page>
  )
}

type Choice = { readonly flow: string } | { readonly from: string; readonly to: string }

function usePromote(name: string) {
  return useMutation({
    mutationFn: (choice: Choice) => delivery.products.release(name, choice),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['applications'] }),
  })
}

interface PromoteProps {
  readonly product: Product
  readonly promote: ReturnType<typeof usePromote>
}

/** Starts a release: by a flow of the product, or from one environment to the next. */
function Promote({ product, promote }: PromoteProps): ReactElement {
  const off = useOff('promote')
  const names = product.environments.map(({ environment }) => environment)
  const flows = product.promotionFlows.map(({ name }) => ({
    label: `By the flow ${name}`,
    onChoose: () => promote.mutate({ flow: name }),
  }))
  const pairs = names.slice(1).map((to, index) => {
    const from = names[index] ?? ''
    return { label: `From ${from} to ${to}`, onChoose: () => promote.mutate({ from, to }) }
  })
  const none = flows.length + pairs.length === 0 ? 'The product has applications in fewer than two environments.' : undefined
  const isOff = off ?? none
  if (isOff !== undefined)
    return (
      <Button tone="primary" off={isOff}>
        Promote
      </Button>
    )
  return (
    <Menu
      button={
        <Button tone="primary" isBusy={promote.isPending}>
          Promote
        </Button>
      }
      groups={[flows, pairs].filter((group) => group.length > 0)}
    />
  )
}

function Content({ product }: { readonly product: Product }): ReactElement {
  const { name, description, environments, elsewhere } = product
  return (
    <div className={layout['stack']}>
      {description !== undefined && (
        <p>
          <bdi>{description}</bdi>
        </p>
      )}
      {environments.length === 0 ? (
        <Empty>No application of the product deploys into an environment.</Empty>
      ) : (
        <ul className={styles['environments']} aria-label="Environments">
          {environments.map((place) => (
            <Environment key={place.environment} place={place} />
          ))}
        </ul>
      )}
      {elsewhere.length > 0 && (
        <p className={layout['note']}>
          {plural(elsewhere.length, 'application')} of the product {elsewhere.length === 1 ? 'deploys' : 'deploy'} into no
          environment: <bdi>{elsewhere.join(', ')}</bdi>
        </p>
      )}
      <h2>Releases</h2>
      <Releases product={name} />
      <Command text={sh`windlass get releases --product ${name}`} />
    </div>
  )
}

function Environment({ place }: { readonly place: ProductPlace }): ReactElement {
  return (
    <li>
      <h3>
        <bdi>{place.environment}</bdi>
        {place.kind === 'PROD' && <span className={cells['more']}> production</span>}
      </h3>
      <p className={styles['version']}>
        <bdi>{place.version ?? (place.applications.length > 1 ? 'versions differ, or are not known' : 'version not known')}</bdi>
      </p>
      <ul className={layout['tight']}>
        {place.applications.map((application) => (
          <ApplicationLine
            key={`${application.runtime}/${application.namespace}/${application.name}`}
            application={application}
          />
        ))}
      </ul>
    </li>
  )
}

function ApplicationLine({ application }: { readonly application: ProductApplication }): ReactElement {
  const { name, health, sync, why, version, revision } = application
  return (
    <li>
      <Link href={paths.application(application)}>
        <bdi>{name}</bdi>
      </Link>{' '}
      <bdi className={cells['more']}>
        {[version, revision === undefined ? undefined : shortRevision(revision)].filter(Boolean).join(' at ')}
      </bdi>
      <span className={styles['states']}>
        <Status look={lookOfHealth(health)} />
        <Status look={lookOfSync(sync)} />
      </span>
      {why !== undefined && <bdi className={cells['why']}>{why}</bdi>}
    </li>
  )
}
