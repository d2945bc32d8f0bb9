/** The two lists of the room: applications, and the products that they belong to. */
import type { ReactElement } from 'react'
import { Tabs } from '../parts/tabs.tsx'
import { paths } from '../url/paths.ts'

export function DeliveryTabs({ current }: { readonly current: 'applications' | 'products' }): ReactElement {
  return (
    <Tabs
      label="Delivery"
      tabs={[
        { label: 'Applications', href: paths.applications(), isCurrent: current === 'applications' },
        { label: 'Products', href: paths.products(), isCurrent: current === 'products' },
      ]}
    />
  )
}
