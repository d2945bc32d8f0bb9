/** Reads the commit of an image and its pull request from a forge. */
import { FORGE_APIS, FORGE_BROWSERS, FORGE_PULLS, urlOf, type BrowsedForge, type Listing } from '@windlass/forges'
import { defined } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { IMAGE_REPORT_MAX as MAX, toReportLine, toWebAddress, type ImageGit } from '@windlass/protocol'
import { jsonOf, type Ask } from './ask.ts'

export interface Forge {
  readonly provider: BrowsedForge
  /** As people open it. */
  readonly url: string
  /** Absent for public repositories. */
  readonly token?: string | undefined
}

export interface CommitPlace {
  /** OWNER/NAME. */
  readonly repo: string
  /** Hash, or the branch or tag that has it as its last commit. */
  readonly ref: string
}

const CHECK_TOKEN = 'Check the Git token, and that its owner may read the repository.'

/** Throws `not-found`, `service-refused` and `service-unreachable`. */
export async function readCommit(ask: Ask, forge: Forge, { repo, ref }: CommitPlace): Promise<ImageGit> {
  const { origin, hostname, pathname } = new URL(forge.url)
  const api = FORGE_APIS[forge.provider]
  const base = api.baseOf({ origin, host: hostname, path: pathname.replace(/^\/+|\/+$/g, '') })
  const headers = forge.token === undefined ? {} : api.headersOf({ password: forge.token })

  /** Returns the first page of a list; undefined if the forge does not have it. */
  async function first<T>(listing: Listing<T>): Promise<readonly T[] | undefined> {
    const url = urlOf(base, listing.path)
    if (url === undefined) throw fault('usage', { message: `"${repo}" is not the name of a repository.` })
    const answer = await ask(url, headers)
    if (answer.status === 404) return undefined
    return listing.read({ url, body: jsonOf(url, answer, CHECK_TOKEN), headers: answer.headers }).items
  }

  const [commit] = (await first(FORGE_BROWSERS[forge.provider].commits({ repo, ref, path: '' }))) ?? []
  if (commit === undefined)
    throw fault('not-found', { message: `"${repo}" does not have the commit "${ref}".`, hint: CHECK_TOKEN })
  const { revision, message, author, url } = commit
  const pulls = FORGE_PULLS[forge.provider]
  const ofCommit = (pulls && (await first(pulls.ofCommit(repo, revision)))) ?? []
  const pull = ofCommit.find(({ state }) => state === 'merged') ?? ofCommit[0]
  return {
    commit: revision.toLowerCase(),
    ...defined({
      message: toReportLine(message, MAX.message),
      author: toReportLine(author, MAX.author),
      url: toWebAddress(url),
      pull: pull && {
        number: pull.number,
        state: pull.state,
        ...defined({ title: toReportLine(pull.title, MAX.title), url: toWebAddress(pull.url) }),
      },
    }),
  }
}

/** Returns OWNER/NAME of a repository, which may be given as a URL below that of its forge. */
export function repoIn(text: string, forgeUrl: string | undefined): string {
  const isUrl = /^https?:\/\//i.test(text)
  const start = forgeUrl?.replace(/\/+$/, '')
  const below = isUrl && start !== undefined && text.startsWith(`${start}/`) ? text.slice(start.length) : undefined
  const path = below ?? (isUrl ? new URL(text).pathname : text)
  return path.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
}
