/** Variables that a clone sets for the steps after it. */
import { gitVariables, repositoryName, type ExportedVariable } from '@windlass/plan'

export interface Head {
  /** Branch or tag. Empty for a bare commit. */
  readonly name: string
  readonly revision: string
  readonly author: string
  readonly message: string
}

/** Returns the git variables that are known from the clone, for the following steps. */
export function variablesOf(url: string, { name, revision, author, message }: Head): ExportedVariable[] {
  const path = url
    .replace(/^[a-z]+:\/\/[^/]*/, '')
    .replace(/^[^/]*:/, '')
    .split('/')
    .filter((part) => part !== '')
  const variables = gitVariables({
    repoOwner: path.at(-2),
    repoName: repositoryName(url),
    branch: name === '' ? undefined : name,
    revision,
    commitAuthor: author,
    commitMessage: message.trimEnd(),
  })
  return Object.entries(variables).map(([key, value]) => ({ name: key, value, secret: false }))
}
