import { execFileSync } from 'node:child_process'

/**
 * Returns the commit of a repository, with `-dirty` if files differ from it or are not part of it: charts and images contain files whether they are tracked
 * or not. Ignored files do not count.
 */
export function readRevision(root: string): string {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  return `${git('rev-parse', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '-dirty'}`
}

/** Throws if a release of this revision must not be signed. */
export function requireSignable(revision: string): void {
  if (revision.endsWith('-dirty'))
    throw new Error('a release with uncommitted or untracked files is not signed: commit or remove them, or add --allow-dirty')
}
