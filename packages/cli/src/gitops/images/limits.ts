/** What the Secret of an integration lets callers read: they get what its login can read, and may themselves not read all of that. */
import { fault } from '@windlass/kit/faults'
import { toProject } from './issues.ts'

/** Returns the entries of a text, which commas or spaces separate. */
export function entriesOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '')
}

/**
 * Returns whether the issue with a key may be read. `allowed`: the projects of the Secret; undefined for all. Throws `forbidden` for a project that the caller names and that
 * is none of them.
 */
export function openProjects(allowed: readonly string[] | undefined, named: readonly string[]): (key: string) => boolean {
  const known = allowed?.map(toProject)
  const isKnown = (project: string): boolean => known === undefined || known.includes(toProject(project))
  const foreign = named.find((project) => !isKnown(project))
  if (foreign !== undefined)
    throw fault('forbidden', {
      message: `The Jira integration does not allow the project "${foreign}".`,
      hint: 'The key `projects` of its Secret has those that it allows.',
    })
  return (key) => isKnown(key.slice(0, key.lastIndexOf('-')))
}

/** Throws `forbidden`. `allowed`: the repositories of the Secret, as OWNER/NAME; undefined for all. */
export function requireRepository(allowed: readonly string[] | undefined, repo: string): void {
  const isAllowed = allowed?.some((one) => one.toLowerCase() === repo.toLowerCase()) ?? true
  if (isAllowed) return
  throw fault('forbidden', {
    message: `The Git integration does not allow the repository "${repo}".`,
    hint: 'The key `repositories` of its Secret has those that it allows, as OWNER/NAME.',
  })
}
