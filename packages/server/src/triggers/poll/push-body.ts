import type { BranchHead } from '@windlass/forges'
import type { BranchHeadRow } from '../../store/schema/schema.ts'

/** The commit that a branch has before its first push, in the bodies of GitHub. */
const NO_COMMIT = '0'.repeat(40)

/** Returns the body of a push that polling found, in the form of GitHub: steps find it as the event of their build. It names no files and no user. */
export function toPushBody(repo: string, { name, revision, commit = {}, base }: BranchHead & { readonly base: string }): string {
  const { message, author, url } = commit
  return JSON.stringify({
    ref: `refs/heads/${name}`,
    before: base === '' ? NO_COMMIT : base,
    after: revision,
    repository: { full_name: repo },
    head_commit: { id: revision, message, url, author: { name: author } },
  })
}

/** Returns the body of the end of a branch that polling found, in the form of GitHub. */
export function toEndBody(repo: string, { branch, revision }: Pick<BranchHeadRow, 'branch' | 'revision'>): string {
  return JSON.stringify({
    ref: `refs/heads/${branch}`,
    before: revision,
    after: NO_COMMIT,
    deleted: true,
    repository: { full_name: repo },
  })
}
