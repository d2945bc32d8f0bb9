/** Who may do what: people and teams, API keys, the table of roles, and the audit log. */
import type { ReactElement } from 'react'
import { useParams } from 'wouter'
import { Tabs } from '../parts/tabs.tsx'
import { NotHere } from '../shell/not-here.tsx'
import { Page } from '../shell/page.tsx'
import { paths } from '../url/paths.ts'
import { Audit } from './audit.tsx'
import { Keys } from './keys.tsx'
import { People } from './people.tsx'
import { Roles } from './roles.tsx'

const PARTS = [
  ['people', 'People', People],
  ['keys', 'Keys', Keys],
  ['roles', 'Roles', Roles],
  ['audit', 'Audit', Audit],
] as const

export function Access(): ReactElement {
  const { part: wanted = 'people' } = useParams<{ part?: string }>()
  const found = PARTS.find(([part]) => part === wanted)
  if (found === undefined) return <NotHere />
  const [, word, Part] = found
  return (
    <Page title={`Access: ${word}`} heading="Access">
      <Tabs
        label="Parts of access"
        tabs={PARTS.map(([part, label]) => ({ label, href: paths.access(part), isCurrent: part === wanted }))}
      />
      <Part />
    </Page>
  )
}
