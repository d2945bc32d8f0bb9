/** The settings of an account for GitOps: which repository its GitOps runtimes share. The app-proxy of a runtime has checked it before it is chosen. */
import { defined, fault } from '@windlass/kit'
import { GitopsSettings, type GitopsSettingsInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { noteDetail } from '../audit/call.ts'
import { lockAccount } from '../store/account/accounts.ts'
import { deleteMeta, findMeta, putMeta } from '../store/account/meta.ts'
import type { Query } from '../store/store.ts'

const keyOf = (accountId: string): string => `gitops-settings/${accountId}`

/** Reads the settings. They have no repository until the first runtime has chosen one. */
export async function readGitopsSettings(query: Query, accountId: string): Promise<GitopsSettings> {
  return GitopsSettings.parse(JSON.parse((await findMeta(query, keyOf(accountId))) ?? '{}'))
}

/** The fields of its forge are kept if they are undefined. */
interface Choice extends z.output<typeof GitopsSettingsInput> {
  /** Who chooses it. */
  readonly by: string
}

/** Stores the shared repository. The first choice counts for all runtimes. Throws `conflict` if the account has another repository. */
export async function chooseSharedRepository(app: App, { sharedRepository, by, ...forge }: Choice): Promise<GitopsSettings> {
  return app.store.write(async (tx) => {
    // Two runtimes that choose at once would both be the first.
    await lockAccount(tx, app.accountId)
    const before = await readGitopsSettings(tx.query, app.accountId)
    const named = { ...before, ...defined(forge) }
    const isSame = before.gitProvider === named.gitProvider && before.gitApiUrl === named.gitApiUrl
    if (before.sharedRepository === sharedRepository && isSame) return before
    if (before.sharedRepository !== undefined && before.sharedRepository !== sharedRepository)
      throw fault('conflict', {
        message: `The account has another shared configuration repository: ${before.sharedRepository}.`,
        hint: 'Use this one, or forget it first with `windlass gitops config reset`.',
      })
    const settings: GitopsSettings = { ...named, sharedRepository, changedBy: by, changedAt: app.clock.now() }
    await putMeta(tx, keyOf(app.accountId), JSON.stringify(settings))
    noteDetail(`shared repository ${sharedRepository}`)
    return settings
  })
}

/** Forgets the shared repository. Its files stay, and so does what Argo CD applies from it. */
export async function resetGitopsSettings(app: App): Promise<void> {
  await app.store.write(async (tx) => {
    const { sharedRepository } = await readGitopsSettings(tx.query, app.accountId)
    await deleteMeta(tx, keyOf(app.accountId))
    if (sharedRepository !== undefined) noteDetail(`shared repository ${sharedRepository}`)
  })
}
