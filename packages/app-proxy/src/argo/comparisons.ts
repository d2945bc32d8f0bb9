/**
 * Asks Argo CD to compare applications whose repository has just got a commit. By itself it looks every few minutes, so nothing here fails a call: what is not asked for is
 * found later.
 */
import { attempt, type Logger } from '@windlass/kit'
import type { Applications } from './applications.ts'

/** Applications of one repository that are asked for. */
const MAX_APPLICATIONS = 100

export interface Comparisons {
  /** Asks for these applications of the namespace. Those that do not exist are left out. */
  ofNames(names: readonly string[], revision: string): Promise<void>
  /** Asks for the applications of the namespace with this repository, as a webhook of its forge would. Those of another branch never have the revision. */
  ofRepository(url: string, revision: string | undefined): Promise<void>
}

/** Those of the app-proxy of a Runner, which has no applications. */
export const NO_COMPARISONS: Comparisons = { ofNames: async () => undefined, ofRepository: async () => undefined }

export interface ComparisonsOptions {
  readonly applications: Pick<Applications, 'list' | 'askRefresh' | 'untilCompared'>
  readonly log: Logger
  readonly signal: AbortSignal
}

/** A commit of which an application has to hear. */
interface Followed {
  readonly revision: string
  wasAskedAgain: boolean
}

export function openComparisons({ applications, log, signal }: ComparisonsOptions): Comparisons {
  /** The newest commit of each application. */
  const followed = new Map<string, Followed>()

  async function ask(name: string, revision: string | undefined): Promise<void> {
    const exists = await applications.askRefresh(name)
    if (!exists || revision === undefined) return
    const isFollowed = followed.has(name)
    followed.set(name, { revision, wasAskedAgain: false })
    if (!isFollowed) void attempt(log, 'comparison with a commit', () => follow(name)).finally(() => followed.delete(name))
  }

  /** The controller removes the request at the end of each comparison, also of one that began before the commit. So a comparison without the commit is asked for once more. */
  async function follow(name: string): Promise<void> {
    for (;;) {
      const revisions = await applications.untilCompared(name, signal)
      const commit = followed.get(name)
      if (commit === undefined || commit.wasAskedAgain || revisions.includes(commit.revision)) return
      commit.wasAskedAgain = true
      await applications.askRefresh(name)
    }
  }

  async function ofNames(names: readonly string[], revision: string | undefined): Promise<void> {
    await attempt(log, 'comparison after a commit', async () => {
      for (const name of names) await ask(name, revision)
    })
  }

  return {
    ofNames,
    async ofRepository(url, revision) {
      const wanted = plain(url)
      const names = await attempt(log, 'applications of a repository', async () => {
        const all = await applications.list()
        return all.filter(({ sources }) => sources.some(({ repo }) => plain(repo) === wanted)).map(({ name }) => name)
      })
      await ofNames((names ?? []).slice(0, MAX_APPLICATIONS), revision)
    },
  }
}

/** Applications name a repository with and without `.git`. */
function plain(url: string): string {
  return url.replace(/\.git$/, '')
}
