/** Commits in the name of users: with their Git token, their identity at the forge, and their rights there. */
import type { RepositoryPlace } from '@windlass/forges'
import { fault, isFault, openSerial, type Clock } from '@windlass/kit'
import { noteCommit } from '../audit/call.ts'
import { readList } from '../forge/browse.ts'
import type { ForgeSession } from '../forge/session.ts'
import type { GitToken } from '../store/git-tokens.ts'
import {
  commitFiles,
  commitToNewBranch,
  type CommitRequest,
  type CommitResult,
  type FileChange,
  type OtherCommit,
  type Signature,
} from './commit-files.ts'
import type { GitSettings } from './git-environment.ts'
import { mergeTexts, type MergedTexts } from './merge-texts.ts'

/** A forge with the Git token of the user who commits. */
export interface UserForge {
  readonly session: ForgeSession
  readonly token: GitToken
  /** Throws if the user may not commit any more. Called before each push. */
  readonly confirm: () => Promise<void>
  readonly signal: AbortSignal
}

export interface UserChange {
  /** `owner/name`. */
  readonly repo: string
  readonly branch: string
  /** The branch at which a new branch begins. Default: the branch exists. */
  readonly from?: string | undefined
  readonly message: string
  readonly changes: readonly FileChange[]
  /** The commit from which the user has loaded the files. Default: the one that the branch has now. */
  readonly base: string | undefined
}

export interface UserCommit extends CommitResult {
  readonly branch: string
  /** Page of the commit at the forge. */
  readonly url: string
}

export interface UserCommits {
  /** Commits and pushes. Throws `forbidden` if the user may not push to the repository, and what `commitFiles` throws. */
  commit(forge: UserForge, change: UserChange): Promise<UserCommit>
  /** Merges two texts that came from one. Undefined if both change the same lines. */
  merge(texts: MergedTexts, signal: AbortSignal): Promise<string | undefined>
}

export interface UserCommitsOptions {
  readonly git: Omit<GitSettings, 'signal'>
  readonly clock: Clock
}

export function openUserCommits({ git, clock }: UserCommitsOptions): UserCommits {
  const branches = openSerial()
  return {
    async commit({ session, token, confirm, signal }, { repo, branch, from, message, changes, base }) {
      const { browser, integration } = session
      await requirePush(session, repo)
      const home = integration.url.replace(/\/+$/, '')
      const host = new URL(home).hostname
      const account = { url: home + browser.clonePath(repo), username: browser.gitUser(token), token: token.token }
      const request: CommitRequest = {
        branch,
        message,
        changes,
        base,
        lastChange: (path, revision) => findLastChange(session, { repo, ref: revision, path }),
        confirm,
        author: signatureOf(token, host),
        time: Math.floor(clock.now() / 1000),
      }
      const settings = { ...git, signal }
      // Commits to one branch would only refuse each other.
      const result = await branches.run(`${account.url} ${branch}`, () =>
        from === undefined ? commitFiles(account, settings, request) : commitToNewBranch(account, settings, { ...request, from }),
      )
      if (result.isNew) noteCommit({ repository: account.url, branch, revision: result.revision })
      return { ...result, branch, url: home + browser.commitPath(repo, result.revision) }
    },
    merge: (texts, signal) => mergeTexts(texts, { ...git, signal }),
  }
}

/** Throws `forbidden` if the user may not push. The forge knows it before git does, and says it in a form that is the same for all forges. */
async function requirePush(session: ForgeSession, repo: string): Promise<void> {
  const { canPush } = await session.one(session.browser.repository(repo))
  if (canPush === false) throw mayNotPush(repo)
}

export function mayNotPush(repo: string): Error {
  return fault('forbidden', {
    message: `The owner of the Git token may not push to "${repo}".`,
    hint: 'Ask an owner of the repository for the right to write.',
    right: 'git-push',
  })
}

/** Asks the forge for the last commit that changed a path. Undefined if it does not say: the message about a conflict must not fail for it. */
export async function findLastChange(session: ForgeSession, place: RepositoryPlace): Promise<OtherCommit | undefined> {
  const found = await readList(session, session.browser.commits(place), undefined).catch((error: unknown) => {
    if (isFault(error)) return undefined
    throw error
  })
  const last = found?.items[0]
  if (last === undefined) return undefined
  return { revision: last.revision, author: last.author ?? '', subject: (last.message.split('\n')[0] ?? '').slice(0, 200) }
}

/** Returns the author. What the forge says of its user may be anything. */
function signatureOf({ login, name, email }: GitToken, host: string): Signature {
  const user = cleaned(login) || 'unknown'
  return { name: cleaned(name ?? '') || user, email: cleaned(email ?? '') || `${user}@users.noreply.${host}` }
}

/** Git takes these characters out of names and addresses, and refuses what is empty then. */
function cleaned(text: string): string {
  return text
    .replaceAll(/[\p{Cc}<>]/gu, '')
    .replaceAll(/^[\s.,:;"'\\]+|[\s.,:;"'\\]+$/g, '')
    .slice(0, 200)
}
