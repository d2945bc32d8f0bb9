/** The shared configuration repository of the account: its files, and changes of them in the name of the caller. */
import { fault } from '@windlass/kit'
import type { ControlPlane } from './control-plane.ts'
import type { RepositoryBranch, RepositoryBranches } from './repository-branch.ts'
import type { GitopsCall } from './user-repositories.ts'

export interface SharedRepositories {
  /** Opens the one of the account. Throws `not-found` if none was chosen, and what `RepositoryBranches.open` throws. */
  open(call: GitopsCall): Promise<RepositoryBranch>
  /** Opens one that is not chosen yet. */
  openAt(call: GitopsCall, url: string): Promise<RepositoryBranch>
}

export interface SharedRepositoriesOptions {
  readonly controlPlane: ControlPlane
  readonly branches: RepositoryBranches
  /** Called after each new commit. */
  readonly committed: (revision: string) => Promise<void>
}

export function openSharedRepositories({ controlPlane, branches, committed }: SharedRepositoriesOptions): SharedRepositories {
  async function openAt(call: GitopsCall, url: string): Promise<RepositoryBranch> {
    const branch = await branches.open(call, url)
    return {
      ...branch,
      async change(plan) {
        const changed = await branch.change(plan)
        if (changed.commit.isNew) await committed(changed.commit.revision)
        return changed
      },
    }
  }

  return {
    openAt,
    async open(call) {
      const { sharedRepository } = await controlPlane.settings(call.key)
      if (sharedRepository !== undefined) return openAt(call, sharedRepository)
      throw fault('not-found', {
        message: 'The account has no shared configuration repository.',
        hint: 'An admin chooses one with `windlass gitops config set RUNTIME --shared-config-repo URL`.',
      })
    },
  }
}
