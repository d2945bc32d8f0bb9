/** Which Git integration a repository belongs to, and its name at the forge. */
import { FORGE_BROWSERS } from '@windlass/forges'
import { RepoName } from '../http/fields.ts'
import type { Integration } from '../store/integrations.ts'

export interface FoundRepository {
  readonly integration: Integration
  /** `owner/name`. */
  readonly repo: string
}

/**
 * Finds the integration whose URL is the start of the URL of a repository. Of several it is the one with the longest URL: a forge below a path of another one.
 * `clone`: URL for git, with `.git`. Returns undefined if there is none, so that a Git token only goes to the forge that it was registered for.
 */
export function findRepository(integrations: readonly Integration[], clone: string): FoundRepository | undefined {
  const found = integrations.flatMap((integration) => {
    const home = integration.url.replace(/\/+$/, '')
    const repo = clone.startsWith(`${home}/`) ? repoOf(integration, clone.slice(home.length)) : undefined
    return repo === undefined ? [] : [{ integration, repo }]
  })
  return found.toSorted((one, other) => other.integration.url.length - one.integration.url.length)[0]
}

/** Returns the name of a repository whose path for git is `path`. Forges write it in different ways, so the name has to lead to the same path. */
function repoOf({ provider }: Integration, path: string): string | undefined {
  const plain = path.replace(/^\//, '').replace(/\.git$/, '')
  const browser = FORGE_BROWSERS[provider]
  return [plain, plain.replace(/^scm\//, '')].find((repo) => RepoName.safeParse(repo).success && browser.clonePath(repo) === path)
}
