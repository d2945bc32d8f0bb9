import type { Forge } from '@windlass/protocol'
import { azureApi } from './azure.ts'
import { bitbucketApi } from './bitbucket.ts'
import { bitbucketServerApi } from './bitbucket-server.ts'
import type { ForgeApi } from './forge-api.ts'
import { giteaApi } from './gitea.ts'
import { githubApi } from './github.ts'
import { gitlabApi } from './gitlab.ts'

export const FORGE_APIS: Readonly<Record<Forge, ForgeApi>> = {
  github: githubApi,
  gitlab: gitlabApi,
  bitbucket: bitbucketApi,
  'bitbucket-server': bitbucketServerApi,
  gitea: giteaApi,
  azure: azureApi,
}
