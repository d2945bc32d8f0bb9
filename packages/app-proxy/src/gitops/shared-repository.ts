/** The shared configuration repository of the account: its files, and changes of them in the name of the caller. */
import { below, type SharedPlace } from '@windlass/gitops'
import { fault, isFault } from '@windlass/kit'
import { splitRepositoryUrl, type RepositoryChange } from '@windlass/protocol'
import type { FileChange } from '../commit/commit-files.ts'
import { mayNotPush, type UserCommits } from '../commit/user-commits.ts'
import type { ControlPlane } from './control-plane.ts'
import { openView, type RepositoryView } from './repository-view.ts'
import { branchOf, type GitopsCall, type UserRepositories } from './user-repositories.ts'

/** How often a change is made again from new files, after another commit has changed the same ones. */
const MAX_TRIES = 3

/** Files to write, or to delete if their text is undefined, by path. */
export type Files = ReadonlyMap<string, string | undefined>

export interface Plan<T> {
  readonly message: string
  readonly files: Files
  /** What the caller gets. */
  readonly result: T
}

export interface SharedRepository {
  /** As it was chosen. */
  readonly url: string
  readonly place: SharedPlace
  view(): Promise<RepositoryView>
  /** Throws `forbidden` if the forge says that the caller may not push. */
  requirePush(): void
  /**
   * Makes one commit of a plan. Without files, and if the repository has these contents already, none is made. If another commit changes the same files meanwhile, the plan
   * is made again from the new ones, three times at most. Throws `git-conflict` then, and what `plan` and `UserCommits` throw.
   */
  change<T>(plan: (view: RepositoryView) => Promise<Plan<T>>): Promise<{ readonly commit: RepositoryChange; readonly result: T }>
}

export interface SharedRepositories {
  /** Opens the one of the account. Throws `not-found` if none was chosen, and what `UserRepositories.get` throws. */
  open(call: GitopsCall): Promise<SharedRepository>
  /** Opens one that is not chosen yet. */
  openAt(call: GitopsCall, url: string): Promise<SharedRepository>
}

export interface SharedRepositoriesOptions {
  readonly controlPlane: ControlPlane
  readonly repositories: UserRepositories
  readonly commits: UserCommits
}

export function openSharedRepositories({ controlPlane, repositories, commits }: SharedRepositoriesOptions): SharedRepositories {
  async function openAt(call: GitopsCall, url: string): Promise<SharedRepository> {
    const { clone, path: folder } = splitRepositoryUrl(url)
    const forge = await repositories.get(call, clone)
    const { session, repo, facts } = forge
    const branch = branchOf(url, forge)
    const view = (): Promise<RepositoryView> => openView(session, { repo, branch, folder })
    const home = session.integration.url.replace(/\/+$/, '')
    const unchanged = (revision: string): RepositoryChange => ({
      revision,
      branch,
      url: home + session.browser.commitPath(repo, revision),
      isNew: false,
      isRebased: false,
    })

    function requirePush(): void {
      if (facts.canPush === false) throw mayNotPush(repo)
    }

    async function commitOnce(revision: string, { message, files }: Plan<unknown>): Promise<RepositoryChange> {
      const changes = [...files].map(([path, text]): FileChange => ({
        path: below(folder, path),
        content: text === undefined ? undefined : Buffer.from(text),
      }))
      if (changes.length === 0) return unchanged(revision)
      return commits.commit(forge, { repo, branch, message, changes, base: revision })
    }

    return {
      url,
      place: { clone, path: folder, branch },
      view,
      requirePush,
      async change(plan) {
        requirePush()
        for (let tries = 1; ; tries += 1) {
          const seen = await view()
          const made = await plan(seen)
          try {
            return { commit: await commitOnce(seen.revision, made), result: made.result }
          } catch (error) {
            if (tries >= MAX_TRIES || !isFault(error, 'git-conflict')) throw error
          }
        }
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
