/** The products, with their version and health in each environment. */
import { useQuery } from '@tanstack/react-query'
import type { Environment, Product } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { Status } from '../../looks/status.tsx'
import { Command } from '../../parts/copy.tsx'
import { Empty } from '../../parts/empty.tsx'
import layout from '../../parts/layout.module.css'
import cells from '../../parts/cells.module.css'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Table, type Column } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'
import { Page } from '../../shell/page.tsx'
import { paths } from '../../url/paths.ts'
import { DeliveryTabs } from '../delivery-tabs.tsx'
import { deliveryQueries } from '../queries.ts'
import { lookOfHealth, lookOfRelease, lookOfSync } from '../states.ts'

export function Products(): ReactElement {
  return (
    <Page title="Products">
      <DeliveryTabs current="products" />
      <ProductList />
    </Page>
  )
}

function ProductList(): ReactElement {
  const products = useQuery(deliveryQueries.products())
  const environments = useQuery(deliveryQueries.environments())
  const { error } = products.error === null ? environments : products
  if (error !== null && (products.data === undefined || environments.data === undefined))
    return <Problem error={error} onRetry={() => void Promise.all([products.refetch(), environments.refetch()])} />
  if (products.data === undefined || environments.data === undefined) return <Loading rows={4} what="products" />
  if (products.data.length === 0) return <NoProducts />
  return (
    <div className={layout['stack']}>
      <Table caption="Products" rows={products.data} keyOf={({ id }) => id} columns={columnsOf(environments.data)} />
      <Command text="windlass get products" />
    </div>
  )
}

/** Environments without an application of any product have a column too: it shows where nothing runs. */
function columnsOf(environments: readonly Environment[]): Column<Product>[] {
  return [
    {
      head: 'Product',
      cell: ({ name, description }) => (
        <span className={cells['pair']}>
          <Link href={paths.product(name)}>
            <bdi>{name}</bdi>
          </Link>
          <bdi className={cells['more']}>{description ?? ''}</bdi>
        </span>
      ),
    },
    ...environments.map((environment): Column<Product> => ({
      head: environment.name,
      cell: (product) => <Place product={product} environment={environment.name} />,
    })),
    { head: 'Last release', cell: LastRelease },
  ]
}

function Place({ product, environment }: { readonly product: Product; readonly environment: string }): ReactElement | null {
  const place = product.environments.find((one) => one.environment === environment)
  if (place === undefined) return null
  return (
    <span className={cells['pair']}>
      <bdi>{place.version ?? 'version not known'}</bdi>
      <span className={cells['more']}>
        <Status look={lookOfHealth(place.health)} />
      </span>
      {place.sync !== 'synced' && (
        <span className={cells['more']}>
          <Status look={lookOfSync(place.sync)} />
        </span>
      )}
      {place.releaseId !== undefined && <span className={cells['more']}>a release changes it</span>}
    </span>
  )
}

function LastRelease({ release }: Product): ReactElement | null {
  if (release === undefined) return null
  return (
    <span className={cells['pair']}>
      <Status look={lookOfRelease(release.status)} />
      <span className={cells['more']}>
        #{release.number} {release.version ?? ''} <When at={release.createdAt} />
      </span>
    </span>
  )
}

function NoProducts(): ReactElement {
  return (
    <Empty
      action={
        <div className={layout['tight']}>
          <p>
            A product is a set of applications with the label or annotation <code>codefresh.io/product</code>. Describe
            environments and products in a file:
          </p>
          <Command text="windlass apply -f products.yaml" />
          <p>The same list on the command line:</p>
          <Command text="windlass get products" />
        </div>
      }
    >
      There are no products.
    </Empty>
  )
}
