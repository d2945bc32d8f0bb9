/** A branch of a repository that a caller reads and changes with its own Git token. */
import { below, type SharedPlace } from '@windlass/gitops'
import { isFault } from '@windlass/kit'
import { OtherChange, splitRepositoryUrl, type RepositoryChange } from '@windlass/protocol'
import type { FileChange } from '../commit/commit-files.ts'
import type { MergedTexts } from '../commit/merge-texts.ts'
import { findLastChange, mayNotPush, type UserCommits } from '../commit/user-commits.ts'
import { readList } from '../forge/browse.ts'
import { openView, viewAt, type RepositoryView } from './repository-view.ts'
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

export interface Changed<T> {
  readonly commit: RepositoryChange
  readonly result: T
  /** Commits of others after which the change was made again, oldest first. */
  readonly others: readonly OtherChange[]
}

export interface RepositoryBranch {
  /** As it was named. */
  readonly url: string
  readonly place: SharedPlace
  view(): Promise<RepositoryView>
  /** Opens a commit that is known. */
  viewAt(revision: string): RepositoryView
  /** Returns the last commit that changed a file; undefined if the forge does not say. */
  lastChange(path: string, revision: string): Promise<OtherChange | undefined>
  /** Whether the newest commits up to `tip` have another one. */
  hasCommit(tip: string, revision: string): Promise<boolean>
  /** Merges two texts that came from one. Undefined if both change the same lines. */
  merge(texts: MergedTexts): Promise<string | undefined>
  /** Throws `forbidden` if the forge says that the caller may not push. */
  requirePush(): void
  /**
   * Makes one commit of a plan. Without files, and if the repository has these contents already, none is made. If another commit changes the same files meanwhile, the plan
   * is made again from the new ones, three times at most. Throws `git-conflict` then, and what `plan` and `UserCommits` throw.
   */
  change<T>(plan: (view: RepositoryView) => Promise<Plan<T>>): Promise<Changed<T>>
}

export interface RepositoryBranches {
  /** Opens the branch that a URL names. Throws what `UserRepositories.get` throws. */
  open(call: GitopsCall, url: string): Promise<RepositoryBranch>
}

export interface RepositoryBranchesOptions {
  readonly repositories: UserRepositories
  readonly commits: UserCommits
}

export function openRepositoryBranches({ repositories, commits }: RepositoryBranchesOptions): RepositoryBranches {
  return {
    async open(call, url) {
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
        viewAt: (revision) => viewAt(session, { repo, revision, folder }),
        lastChange: (path, revision) => findLastChange(session, { repo, ref: revision, path: below(folder, path) }),
        async hasCommit(tip, revision) {
          if (tip === revision) return true
          const { items } = await readList(session, session.browser.commits({ repo, ref: tip, path: '' }), undefined)
          return items.some((commit) => commit.revision === revision)
        },
        merge: (texts) => commits.merge(texts, call.signal),
        requirePush,
        async change(plan) {
          requirePush()
          const others: OtherChange[] = []
          for (let tries = 1; ; tries += 1) {
            const seen = await view()
            const made = await plan(seen)
            try {
              return { commit: await commitOnce(seen.revision, made), result: made.result, others }
            } catch (error) {
              if (tries >= MAX_TRIES || !isFault(error, 'git-conflict')) throw error
              const other = OtherChange.safeParse(error.details['other']).data
              if (other !== undefined) others.push(other)
            }
          }
        },
      }
    },
  }
}
