/** The inbox: every call of a webhook and every ended build that a trigger may follow, with what became of it. */
import type { ReactElement } from 'react'
import { useLocation, useSearch } from 'wouter'
import { Command } from '../parts/copy.tsx'
import layout from '../parts/layout.module.css'
import { sh } from '../parts/shell.ts'
import { Page } from '../shell/page.tsx'
import { readDeliveryFilter, writeDeliveryFilter, type DeliveryFilter } from '../url/delivery-filter.ts'
import { paths } from '../url/paths.ts'
import { DeliveryFilterBar } from './delivery-filter-bar.tsx'
import { DeliveryList } from './delivery-list.tsx'

export function Deliveries(): ReactElement {
  const filter = readDeliveryFilter(useSearch())
  const [, go] = useLocation()
  const change = (next: DeliveryFilter): void => go(paths.deliveries() + writeDeliveryFilter(next))
  return (
    <Page title="Deliveries">
      <DeliveryFilterBar filter={filter} onChange={change} />
      <DeliveryList key={JSON.stringify(filter)} filter={filter} onChange={change} />
      <div className={layout['tight']}>
        <Command text={commandOf(filter)} />
      </div>
    </Page>
  )
}

/** Returns the command that lists the same deliveries, as far as it has the filters. */
function commandOf({ repo, branch, webhook, pipeline, outcome }: DeliveryFilter): string {
  const status = outcome === 'built' || outcome === 'nothing' ? 'processed' : outcome
  const flags = Object.entries({ repo, branch, webhook, pipeline, status }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  return sh`windlass get deliveries ${flags}`
}
