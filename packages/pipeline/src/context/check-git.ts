/** Checks the Git integration of clone steps against those of the account: codes 100 to 103. */
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import type { ContextPlace } from '../language/step-type.ts'
import type { Kind } from './integrations.ts'
import { checkNamed, reportMissing, warnOfDefault } from './integrations.ts'

const GIT: Kind = {
  field: 'git',
  noun: 'git integration',
  variable: 'git-variable',
  unknown: 'git-unknown',
  listed: ({ git }) => git,
}

const ALWAYS_VALID = 'CF-default'

/** Checks the Git integration. A repository URL needs none: it may be public, and an integration of the same host is found automatically. */
export function checkGit(entries: Entries, place: ContextPlace): void {
  const { git } = place.account
  const repo = read.text(entries, 'repo') ?? ''
  const named = read.text(entries, 'git')
  if (named !== undefined && named !== ALWAYS_VALID && git?.length !== 0) return checkNamed(entries.get('git')?.value, GIT, place)
  const isUrl = repo.includes('://') || /^[^/\s]+@[^/\s]+:/.test(repo.slice(0, 500)) || repo.startsWith('${{')
  if (git === undefined || (isUrl && named === undefined)) return
  if (git.length === 0) {
    return reportMissing(place, 'git-missing', place.range, 'the account has no git integration to clone with', {
      path: `${place.path}.git`,
      hint: 'Add a context of type git, or set "repo" to the full URL of a public repository.',
    })
  }
  if (named === undefined && git.length > 1)
    warnOfDefault('git-implied', { field: 'git', noun: 'git integrations', of: git }, place)
}
