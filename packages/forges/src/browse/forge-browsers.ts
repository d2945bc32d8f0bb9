import { bitbucketServerBrowser } from './bitbucket-server.ts'
import type { ForgeBrowser } from './forge-browser.ts'
import { giteaBrowser } from './gitea.ts'
import { githubBrowser } from './github.ts'
import { gitlabBrowser } from './gitlab.ts'

/** The forges that people can browse. */
export const BROWSED_FORGES = ['github', 'gitlab', 'gitea', 'bitbucket-server'] as const
export type BrowsedForge = (typeof BROWSED_FORGES)[number]

export const FORGE_BROWSERS: Readonly<Record<BrowsedForge, ForgeBrowser>> = {
  github: githubBrowser,
  gitlab: gitlabBrowser,
  gitea: giteaBrowser,
  'bitbucket-server': bitbucketServerBrowser,
}
