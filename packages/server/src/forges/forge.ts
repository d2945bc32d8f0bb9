/** The forges. Each reads its own webhook calls; everything after `parse` is the same for all of them. */
import type { Forge } from '@windlass/protocol'
import { azure } from './azure.ts'
import { bitbucket } from './bitbucket.ts'
import { bitbucketServer } from './bitbucket-server.ts'
import type { ForgeReader } from './forge-reader.ts'
import { gitea } from './gitea.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'

export const FORGE_READERS: Readonly<Record<Forge, ForgeReader>> = {
  github,
  gitlab,
  bitbucket,
  'bitbucket-server': bitbucketServer,
  gitea,
  azure,
}

/** Names of forges in documents, besides their own. */
const ALIASES: Readonly<Record<string, Forge>> = {
  'github-app': 'github',
  'github-enterprise': 'github',
  stash: 'bitbucket-server',
  'bitbucket-data-center': 'bitbucket-server',
  forgejo: 'gitea',
  gogs: 'gitea',
  'azure-devops': 'azure',
}

/** Returns true if `provider` of a trigger names the forge. */
export function isForge(provider: string, forge: Forge): boolean {
  const name = provider.toLowerCase()
  return name === forge || ALIASES[name] === forge
}
