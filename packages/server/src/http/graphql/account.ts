/** Fields about the caller and the account. */
import { field, toShownProvider, type Fields } from '@windlass/graphql'
import { isFault } from '@windlass/kit'
import { GIT_PROVIDERS, GitopsRuntime, GitopsSettings, page, Whoami } from '@windlass/protocol'
import { z } from 'zod'
import { isAllowed } from '../../identity/actor.ts'
import { listField, type PlatformCall } from './platform-call.ts'

const NoArguments = z.object({})

export const accountQueries: Fields<PlatformCall> = {
  me: field(NoArguments, async (_, { app, actor, callRoute }: PlatformCall) => {
    const caller = await callRoute('GET /v1/whoami', { answer: Whoami })
    const settings = await callRoute('GET /v1/gitops-settings', { answer: GitopsSettings }).catch((error: unknown) => {
      // Callers without a right of GitOps learn who they are.
      if (isFault(error, 'forbidden', 'scope-missing')) return GitopsSettings.parse({})
      throw error
    })
    const { id, name } = caller.owner ?? caller
    const isAdmin = isAllowed(actor, 'manage-users')
    const account = {
      id: app.accountId,
      name: app.accountName,
      gitProvider: settings.gitProvider && toShownProvider(settings.gitProvider),
      gitApiUrl: settings.gitApiUrl,
      sharedConfigRepo: settings.sharedRepository,
      admins: isAdmin ? [id] : [],
      features: { gitopsPlanEnforcement: false },
    }
    return { id, name, isAdmin, accounts: [account], activeAccount: account }
  }),
  limitsStatus: listField(NoArguments, async (_, { callRoute }) => {
    const { items } = await callRoute('GET /v1/gitops-runtimes', { answer: page(GitopsRuntime) })
    const clusters = items.flatMap((runtime) => runtime.clusters)
    const applications = clusters.reduce((sum, cluster) => sum + cluster.applications, 0)
    return { usage: { clusters: clusters.length, applications }, limits: null, status: true }
  }),
}

export const accountMutations: Fields<PlatformCall> = {
  suggestIscRepo: field(
    z.object({ suggestedSharedConfigRepo: z.string() }),
    async ({ suggestedSharedConfigRepo: sharedRepository }, { callRoute }: PlatformCall) => {
      try {
        const chosen = await callRoute('PUT /v1/gitops-settings', { body: { sharedRepository }, answer: GitopsSettings })
        return chosen.sharedRepository
      } catch (error) {
        // Another one was chosen before, and stays.
        if (!isFault(error, 'conflict')) throw error
        return (await callRoute('GET /v1/gitops-settings', { answer: GitopsSettings })).sharedRepository
      }
    },
  ),
  updateCsdpSettings: field(
    z.object({ gitProvider: z.enum(GIT_PROVIDERS), gitApiUrl: z.string(), sharedConfigRepo: z.string() }),
    async ({ gitProvider, gitApiUrl, sharedConfigRepo: sharedRepository }, { callRoute }: PlatformCall) => {
      await callRoute('PUT /v1/gitops-settings', { body: { sharedRepository, gitProvider, gitApiUrl }, answer: GitopsSettings })
      return null
    },
  ),
}
