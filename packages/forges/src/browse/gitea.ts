/** Browsing of Gitea and Forgejo, version 1 of their API. */
import { defined } from '@windlass/kit'
import { text } from '../fields.ts'
import type { ForgeBrowser, Organization } from './forge-browser.ts'
import { githubForms } from './github.ts'

const PAGE = 50
/** Leaves out parts of a commit that cost the forge time. */
const BARE = { stat: 'false', verification: 'false', files: 'false' }

export const giteaBrowser: ForgeBrowser = {
  ...githubForms({ page: { limit: PAGE }, repositories: {}, commits: BARE, readOrganization }),
  gitUser: ({ login }) => login,
}

function readOrganization(body: unknown): Organization[] {
  const name = text(body, 'name') ?? text(body, 'username')
  return name === undefined ? [] : [{ name, ...defined({ title: text(body, 'full_name') }) }]
}
