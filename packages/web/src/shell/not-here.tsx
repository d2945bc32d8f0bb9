/** An address that the page does not know. */
import type { ReactElement } from 'react'
import { useLocation } from 'wouter'
import { ButtonLink } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { paths } from '../url/paths.ts'
import { Page } from './page.tsx'

export function NotHere(): ReactElement {
  const [path] = useLocation()
  return (
    <Page title="No such page">
      <Empty action={<ButtonLink href={paths.builds()}>Show builds</ButtonLink>}>
        The address <code>{path}</code> leads to no page. Press <kbd>Ctrl K</kbd> to search for what you expected here.
      </Empty>
    </Page>
  )
}
