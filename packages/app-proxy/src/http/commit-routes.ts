/** The route that commits in the name of a user. */
import { fault } from '@windlass/kit'
import { z } from 'zod'
import type { Comparisons } from '../argo/comparisons.ts'
import type { FileChange } from '../commit/commit-files.ts'
import { foldersOf, isBranchName, problemOfPath } from '../commit/paths.ts'
import type { UserCommits } from '../commit/user-commits.ts'
import type { ForgeSession } from '../forge/session.ts'
import type { GitToken } from '../store/git-tokens.ts'
import { ByName, RepoName } from './fields.ts'
import { route, type Call, type Route } from './route.ts'
import type { Slots } from './slots.ts'

const MAX_CHANGES = 100
const MAX_CONTENT_BYTES = 5_242_880
const MAX_BODY_BYTES = 12_582_912

const Path = z.string().superRefine((path, context) => {
  const problem = problemOfPath(path)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: `the path ${problem}` })
})

const CommitInput = z
  .strictObject({
    repo: RepoName,
    branch: z.string().refine(isBranchName, 'must be the name of a branch'),
    /** The first line is the subject. */
    message: z
      .string()
      .max(65_536)
      .refine((text) => text.trim() !== '' && text.isWellFormed() && !text.includes('\0'), 'must be a message'),
    files: z
      .array(
        z.strictObject({
          path: Path,
          content: z.string(),
          encoding: z.enum(['utf8', 'base64']).default('utf8'),
        }),
      )
      .max(MAX_CHANGES)
      .default([]),
    deletes: z.array(Path).max(MAX_CHANGES).default([]),
    /** The commit from which the files were loaded. */
    base: z
      .string()
      .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'must be the full hash of a commit')
      .optional(),
  })
  .superRefine(({ files, deletes }, context) => {
    const paths = [...files.map(({ path }) => path), ...deletes]
    const known = new Set(paths)
    const add = (message: string): void => context.addIssue({ code: 'custom', path: ['files'], message })
    if (paths.length === 0) add('must have at least one file to write or delete')
    if (paths.length > MAX_CHANGES) add(`must have at most ${MAX_CHANGES} files to write or delete`)
    if (known.size < paths.length) add('must name each path once')
    if (paths.some((path) => foldersOf(path).some((folder) => known.has(folder)))) add('must not have a file inside another file')
  })

export interface CommitParts {
  /** Opens the forge with the token of the caller. */
  readonly open: (
    call: Pick<Call<{ name: string }, unknown, unknown>, 'params' | 'caller' | 'signal'>,
  ) => Promise<{ readonly session: ForgeSession; readonly token: GitToken }>
  readonly commits: UserCommits
  readonly comparisons: Comparisons
  readonly slots: Slots
}

export function commitRoutes({ open, commits, comparisons, slots }: CommitParts): Route[] {
  return [
    route('POST', '/git-integrations/{name}/commits', {
      right: 'change-gitops',
      isWrite: true,
      params: ByName,
      body: CommitInput,
      maxBodyBytes: MAX_BODY_BYTES,
      slots,
      async handle(call) {
        const { repo, branch, message, base } = call.body
        const changes = toChanges(call.body)
        const { confirm, signal } = call
        const forge = await open(call)
        const commit = await commits.commit({ ...forge, confirm, signal }, { repo, branch, message, changes, base })
        const { integration, browser } = forge.session
        const url = integration.url.replace(/\/+$/, '') + browser.clonePath(repo)
        if (commit.isNew) await comparisons.ofRepository(url, commit.revision)
        return commit
      },
    }),
  ]
}

type Input = z.output<typeof CommitInput>

/** Returns the changes with their bytes. Throws `request-invalid` for base64 that is not valid, and `file-too-large`. */
function toChanges({ files, deletes }: Input): FileChange[] {
  const written = files.map(({ path, content, encoding }): FileChange => {
    const bytes = Buffer.from(content, encoding)
    const isWhole = encoding === 'base64' ? bytes.toString('base64') === content : content.isWellFormed()
    if (!isWhole) throw fault('request-invalid', { message: `The content of "${path}" is not valid ${encoding}.` })
    if (bytes.byteLength > MAX_CONTENT_BYTES)
      throw fault('file-too-large', { message: `"${path}" is larger than ${MAX_CONTENT_BYTES} bytes.` })
    return { path, content: bytes }
  })
  return [...written, ...deletes.map((path): FileChange => ({ path, content: undefined }))]
}
