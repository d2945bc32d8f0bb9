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
  ofNames(names: readonly string[]): Promise<void>
  /** Asks for the applications of the namespace with this repository, as a webhook of its forge would. */
  ofRepository(url: string): Promise<void>
}

/** Those of the app-proxy of a Runner, which has no applications. */
export const NO_COMPARISONS: Comparisons = { ofNames: async () => undefined, ofRepository: async () => undefined }

export interface ComparisonsOptions {
  readonly applications: Pick<Applications, 'list' | 'askRefresh'>
  readonly log: Logger
}

export function openComparisons({ applications, log }: ComparisonsOptions): Comparisons {
  async function ofNames(names: readonly string[]): Promise<void> {
    await attempt(log, 'comparison after a commit', async () => {
      for (const name of names) await applications.askRefresh(name)
    })
  }

  return {
    ofNames,
    async ofRepository(url) {
      const wanted = plain(url)
      const names = await attempt(log, 'applications of a repository', async () => {
        const all = await applications.list()
        return all.filter(({ sources }) => sources.some(({ repo }) => plain(repo) === wanted)).map(({ name }) => name)
      })
      await ofNames((names ?? []).slice(0, MAX_APPLICATIONS))
    },
  }
}

/** Applications name a repository with and without `.git`. */
function plain(url: string): string {
  return url.replace(/\.git$/, '')
}
