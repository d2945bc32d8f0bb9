/**
 * Commits files of a user to a branch. The commit is made from the list of files of the branch, without a work tree. If the branch changes meanwhile and the other
 * commits touch other files, the commit is made again on top of them; otherwise it is a conflict.
 */
import { fault, isFault, type Fault } from '@windlass/kit'
import { noteEffect } from '../audit/call.ts'
import type { GitAccount, GitSettings } from './git-environment.ts'
import { messageOf, remoteFault } from './git-faults.ts'
import { openRepository, type GitRepository } from './git.ts'
import { foldersOf, overlapOf } from './paths.ts'

/** How often a commit is made again on top of other commits. */
const MAX_TRIES = 5
/** Files of another commit that a message names. */
const MAX_NAMED = 5
const TIP = 'refs/windlass/tip'
const BASE = 'refs/windlass/base'

export interface FileChange {
  /** Checked by `problemOfPath`. */
  readonly path: string
  /** Undefined deletes the file. */
  readonly content: Buffer | undefined
}

export interface Signature {
  readonly name: string
  readonly email: string
}

export interface CommitRequest {
  /** Checked by `isBranchName`. */
  readonly branch: string
  readonly message: string
  readonly author: Signature
  /** Epoch seconds. */
  readonly time: number
  readonly changes: readonly FileChange[]
  /** The commit from which the user has loaded the files. Default: the one that the branch has now. */
  readonly base: string | undefined
  /** Returns the last commit that changed a path, as of a commit; undefined if it is not known. The repository here has no history. */
  readonly lastChange: (path: string, revision: string) => Promise<OtherCommit | undefined>
  /** Called before each push. Throws if the user may not commit any more. */
  readonly confirm: () => Promise<void>
}

/** A commit of another user. */
export interface OtherCommit {
  readonly revision: string
  readonly author: string
  readonly subject: string
}

export interface CommitResult {
  readonly revision: string
  /** False if the branch has these contents already, so that nothing was pushed. */
  readonly isNew: boolean
  /** True if the commit was put on top of commits that came after the base. */
  readonly isRebased: boolean
}

/**
 * Commits and pushes. Throws `git-conflict` with the other commit, `request-invalid` for changes that do not fit to the files of the branch, `not-found`, and what
 * `remoteFault` returns.
 */
export async function commitFiles(account: GitAccount, settings: GitSettings, request: CommitRequest): Promise<CommitResult> {
  await using repository = await openRepository(account, settings)
  const branch = `refs/heads/${request.branch}`
  /** The commit whose files the user has seen. */
  let seen = request.base
  /** The commit of the last push without an answer. */
  let pushed: string | undefined
  let isRebased = false
  for (let tries = 1; ; tries += 1) {
    await repository.fetch(branch, TIP)
    const tip = await resolve(repository, TIP)
    if (tip === pushed) return { revision: tip, isNew: true, isRebased }
    const commit = await makeCommit(repository, tip, request)
    // The branch has the contents of a push without an answer, and another commit on top.
    if (commit === undefined && pushed !== undefined) return { revision: await findOwn(tip, request), isNew: true, isRebased }
    if (commit === undefined) return { revision: tip, isNew: false, isRebased: false }
    isRebased = seen !== undefined && seen !== tip
    if (seen !== undefined && seen !== tip) await requireApart(repository, { seen, tip, request })
    await request.confirm()
    const failure = await push(repository, { branch, tip, commit })
    if (failure === undefined) return { revision: commit, isNew: true, isRebased }
    if (tries >= MAX_TRIES) throw failure
    if (isFault(failure, 'forge-unreachable')) pushed = commit
    seen ??= tip
  }
}

/** Returns the commit below a tip that made the changes; the tip if the forge does not say. */
async function findOwn(tip: string, { changes, lastChange }: CommitRequest): Promise<string> {
  const [first] = changes
  const own = first && (await lastChange(first.path, tip))
  return own?.revision ?? tip
}

/**
 * Commits to a new branch, which begins at another one. If the branch exists, an earlier call for the same change has made it, and its commit is returned. Throws like `commitFiles`.
 */
export async function commitToNewBranch(
  account: GitAccount,
  settings: GitSettings,
  request: CommitRequest & { readonly from: string },
): Promise<CommitResult> {
  await using repository = await openRepository(account, settings)
  const branch = `refs/heads/${request.branch}`
  const made = await repository.fetch(branch, TIP).then(
    () => resolve(repository, TIP),
    (error: unknown) => {
      if (isFault(error, 'not-found')) return undefined
      throw error
    },
  )
  if (made !== undefined) return { revision: made, isNew: true, isRebased: false }
  await repository.fetch(`refs/heads/${request.from}`, TIP)
  const tip = await resolve(repository, TIP)
  const commit = await makeCommit(repository, tip, request)
  if (commit === undefined) return { revision: tip, isNew: false, isRebased: false }
  await request.confirm()
  // Without a commit that it must be at, the branch must not exist.
  const failure = await push(repository, { branch, tip: '', commit })
  if (failure !== undefined) throw failure
  return { revision: commit, isNew: true, isRebased: false }
}

async function resolve(repository: GitRepository, ref: string): Promise<string> {
  return (await repository.read(['rev-parse', '--verify', `${ref}^{commit}`])).toString('latin1').trim()
}

interface Entry {
  readonly mode: string
  readonly type: string
}

/** Returns a commit with the changes on top of `tip`; undefined if it would change nothing. */
async function makeCommit(repository: GitRepository, tip: string, request: CommitRequest): Promise<string | undefined> {
  const entries = await listEntries(repository, tip)
  requireFitting(entries, request.changes)
  await repository.read(['read-tree', tip])
  const lines: string[] = []
  for (const { path, content } of request.changes) {
    if (content === undefined) {
      // A file that another commit has deleted too.
      if (entries.has(path)) lines.push(`0 ${'0'.repeat(tip.length)}\t${path}\0`)
      continue
    }
    const blob = (await repository.read(['hash-object', '-w', '--stdin'], { input: content })).toString('latin1').trim()
    // Keeps the bit for execution of an existing file.
    lines.push(`${entries.get(path)?.mode ?? '100644'} ${blob}\t${path}\0`)
  }
  const { code, errors } = await repository.run(['update-index', '-z', '--index-info'], { input: lines.join('') })
  if (code !== 0) throw fault('request-invalid', { message: `Git does not accept the paths: ${messageOf(errors)}` })
  const tree = (await repository.read(['write-tree', '--missing-ok'])).toString('latin1').trim()
  const before = (await repository.read(['rev-parse', '--verify', `${tip}^{tree}`])).toString('latin1').trim()
  if (tree === before) return undefined
  const { author, time, message } = request
  const date = `@${time} +0000`
  const env = {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: author.name,
    GIT_COMMITTER_EMAIL: author.email,
    GIT_COMMITTER_DATE: date,
  }
  const made = await repository.read(['commit-tree', tree, '-p', tip, '-F', '-'], { input: `${message.trimEnd()}\n`, env })
  return made.toString('latin1').trim()
}

/** Lists files and folders of a commit by path. */
async function listEntries(repository: GitRepository, commit: string): Promise<Map<string, Entry>> {
  const output = await repository.read(['ls-tree', '-r', '-t', '-z', '--full-tree', commit])
  const entries = new Map<string, Entry>()
  for (const line of output.toString('utf8').split('\0')) {
    const tab = line.indexOf('\t')
    const [mode = '', type = ''] = line.slice(0, tab).split(' ')
    if (tab > 0) entries.set(line.slice(tab + 1), { mode, type })
  }
  return entries
}

/** Throws `request-invalid` for a change that would replace a folder, a link or a submodule, or write through one. */
function requireFitting(entries: ReadonlyMap<string, Entry>, changes: readonly FileChange[]): void {
  for (const { path, content } of changes) {
    const found = entries.get(path)
    const what = found === undefined || (content === undefined && found.type === 'blob') ? undefined : kindOf(found)
    if (what !== undefined && what !== 'a file') throw misfit(path, what)
    for (const folder of foldersOf(path)) {
      const above = entries.get(folder)
      if (above !== undefined && above.type !== 'tree') throw misfit(folder, kindOf(above))
    }
  }
}

function kindOf({ mode, type }: Entry): string {
  if (mode === '120000') return 'a symbolic link'
  return type === 'tree' ? 'a folder' : type === 'commit' ? 'a submodule' : 'a file'
}

function misfit(path: string, what: string): Error {
  return fault('request-invalid', { message: `"${path}" is ${what} in the repository.`, hint: 'Use git for this change.' })
}

interface Move {
  readonly seen: string
  readonly tip: string
  readonly request: CommitRequest
}

/** Throws `git-conflict` if one of the files, or a folder of one, differs between the commit that the user has seen and the tip. */
async function requireApart(repository: GitRepository, { seen, tip, request }: Move): Promise<void> {
  if ((await repository.run(['cat-file', '-e', `${seen}^{commit}`])).code !== 0) await repository.fetch(seen, BASE)
  const output = await repository.read(['diff-tree', '-r', '-z', '--name-only', '--no-renames', seen, tip])
  const changed = output
    .toString('utf8')
    .split('\0')
    .filter((path) => path !== '')
  const both = overlapOf(
    changed,
    request.changes.map(({ path }) => path),
  )
  const [first] = both
  if (first === undefined) return
  const other = (await request.lastChange(first, tip)) ?? (await describe(repository, tip))
  const files = both.slice(0, MAX_NAMED).join(', ') + (both.length > MAX_NAMED ? ', …' : '')
  throw fault('git-conflict', {
    message: `The commit ${other.revision} of ${other.author} ("${other.subject}") is on the branch now. It differs in ${files}.`,
    other: { ...other, paths: both.slice(0, 100) },
  })
}

async function describe(repository: GitRepository, commit: string): Promise<OtherCommit> {
  const output = await repository.read(['log', '-1', '--no-show-signature', '--format=%an%x00%s', commit])
  const [author = '', subject = ''] = output.toString('utf8').trimEnd().split('\0')
  return { revision: commit, author, subject: subject.slice(0, 200) }
}

interface Push {
  /** Full name of the ref. */
  readonly branch: string
  /** Empty if the branch must not exist. */
  readonly tip: string
  readonly commit: string
}

/**
 * Pushes a commit if the branch is still at `tip`. Returns the fault if it is not (`git-conflict`), or if the connection broke, so that the push may have had an effect
 * (`forge-unreachable`). Throws for a refusal.
 */
async function push(repository: GitRepository, { branch, tip, commit }: Push): Promise<Fault | undefined> {
  const options = ['--porcelain', '--no-verify', `--force-with-lease=${branch}:${tip}`]
  const end = await repository
    .run(['push', ...options, 'origin', `${commit}:${branch}`], { isRemote: true })
    .catch((error: unknown) => {
      // It was ended, and may have had an effect.
      noteEffect()
      throw error
    })
  if (end.code === 0) return undefined
  const status = /^!\t[^\t]*\t(.*)$/m.exec(end.output.toString('utf8'))?.[1] ?? ''
  // The server locks the branch, so one of two pushes at once fails there.
  if (/stale info|fetch first|non-fast-forward|cannot lock ref|failed to update ref|incorrect old value/i.test(status))
    return fault('git-conflict', { message: 'The branch gets other commits all the time.', hint: 'Try again.' })
  if (status.startsWith('[remote rejected]'))
    throw fault('git-refused', { message: `The Git server does not accept the commit: ${messageOf(`${end.errors}\n${status}`)}` })
  const failure = remoteFault(end.errors)
  if (!isFault(failure, 'forge-unreachable')) throw failure
  noteEffect()
  return failure
}
