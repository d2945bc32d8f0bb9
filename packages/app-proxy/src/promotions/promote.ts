/**
 * Makes the change of a promotion in Git. It can be called again after an answer was lost: a commit names the change in its message, and the branch of a pull request has the change in its name, so an earlier
 * call is found. Values that are in the repository already make no commit.
 */
import type { CommitEntry } from '@windlass/forges'
import { promoteValues, readText } from '@windlass/gitops'
import { defined, fault, isFault } from '@windlass/kit'
import type { ErrandResult, PromoteErrand } from '@windlass/protocol'
import type { FileChange } from '../commit/commit-files.ts'
import { isBranchName, problemOfPath } from '../commit/paths.ts'
import type { UserChange, UserCommit, UserCommits } from '../commit/user-commits.ts'
import { readList } from '../forge/browse.ts'
import { listFiles } from '../gitops/list-files.ts'
import { openView, viewAt, type RepositoryView } from '../gitops/repository-view.ts'
import { ensurePull, findPull } from './pulls.ts'
import type { RuntimeForges, RuntimeRepository } from './runtime-forges.ts'

/** How often a change is made again from new files, after another commit has changed the same ones. */
const MAX_TRIES = 3
/** Files of an application that are promoted together, as many as a commit has. */
const FILES = {
  files: 100,
  folders: 100,
  what: 'The folder of the application',
  hint: 'Name the values to promote in the product or a template.',
}
/** Longest version. Characters. */
const MAX_VERSION = 200
/** The line of a commit message that names the change. */
const CHANGE = 'Windlass-Promotion'

export interface Promoting {
  readonly forges: RuntimeForges
  readonly commits: UserCommits
}

type Promoted = Extract<ErrandResult, { kind: 'promote' }>

/** Throws what the forge and git throw, `git-conflict`, and `request-invalid` for files that do not have the values. */
export async function promote({ forges, commits }: Promoting, work: PromoteErrand, signal: AbortSignal): Promise<Promoted> {
  const source = await forges.open(work.source.repo, signal)
  const target = await forges.open(work.target.repo, signal)
  const from = viewAt(source.session, { repo: source.repo, revision: work.source.revision, folder: folderOf(work.source.path) })
  const version = await readVersion(from, work)
  const branch = branchOf(work.target.revision, target)
  const change: Change = { work, from, target, branch, commits }
  const made = work.action === 'pr' ? await asPull(change) : await asCommit(change)
  return { kind: 'promote', ...made, ...defined({ version }) }
}

interface Change {
  readonly work: PromoteErrand
  readonly from: RepositoryView
  readonly target: RuntimeRepository
  readonly branch: string
  readonly commits: UserCommits
}

/** Argo CD takes a path with slashes at its ends, and `.` for the root. */
export function folderOf(path: string): string {
  const folder = path.replace(/^\.?\/+|\/+$/g, '')
  if (folder === '' || folder === '.') return ''
  const problem = problemOfPath(folder)
  if (problem !== undefined) throw fault('request-invalid', { message: `The path of the application ${problem}.` })
  return folder
}

function branchOf(revision: string, { facts, repo }: RuntimeRepository): string {
  const branch = revision === '' || revision === 'HEAD' ? facts.defaultBranch : revision.replace(/^refs\/heads\//, '')
  if (branch !== undefined && isBranchName(branch)) return branch
  throw fault('request-invalid', { message: `"${repo}" has no branch "${revision}" that could get a commit.` })
}

async function readVersion(from: RepositoryView, { versionSource }: PromoteErrand): Promise<string | undefined> {
  if (versionSource === undefined) return undefined
  const { file, jsonPath } = versionSource
  const text = await from.read(file)
  const version = text === undefined ? undefined : readText({ path: file, text }, jsonPath)
  if (version === undefined)
    throw fault('request-invalid', {
      message: `The file "${file}" of the application from which is promoted has no version at ${jsonPath}.`,
      hint: 'Correct the source of versions in the product or its template.',
    })
  return version.slice(0, MAX_VERSION)
}

async function asCommit(change: Change): Promise<Pick<Promoted, 'revision' | 'isNew'>> {
  const { target, branch, work } = change
  const { session, repo } = target
  for (let tries = 1; ; tries += 1) {
    const view = await openView(session, { repo, branch, folder: folderOf(work.target.path) })
    const history = await listHistory(change, view.revision)
    const earlier = history.find(({ message }) => message.includes(`${CHANGE}: ${work.change}`))
    if (earlier !== undefined) return { revision: earlier.revision, isNew: true }
    const changes = await plan(change, view)
    // The last commit of the branch may have changed another folder, and would not be in the history of this one.
    if (changes.length === 0) return { revision: history[0]?.revision ?? view.revision, isNew: false }
    try {
      const { revision, isNew } = await commit(change, { branch, changes, base: view.revision })
      return { revision, isNew }
    } catch (error) {
      if (tries >= MAX_TRIES || !isFault(error, 'git-conflict')) throw error
    }
  }
}

/** Lists the newest commits of the folder. One of an earlier call for the same change is among them. */
async function listHistory({ target, work }: Change, ref: string): Promise<readonly CommitEntry[]> {
  const { session, repo } = target
  const path = folderOf(work.target.path)
  const { items } = await readList(session, session.browser.commits({ repo, ref, path }), undefined)
  return items
}

function commit({ commits, target, work }: Change, given: Omit<UserChange, 'repo' | 'message'>): Promise<UserCommit> {
  const message = `${work.title}\n\n${work.description}\n${CHANGE}: ${work.change}`
  return commits.commit(target, { repo: target.repo, message, ...given })
}

async function asPull(change: Change): Promise<Pick<Promoted, 'revision' | 'isNew' | 'pull'>> {
  const { target, branch, work } = change
  const { session, repo } = target
  const head = `windlass-promote-${work.change}`
  const place = { repo, head, base: branch }
  const earlier = await findPull(session, place)
  if (earlier !== undefined) return { revision: '', isNew: true, pull: earlier }
  const view = await openView(session, { repo, branch, folder: folderOf(work.target.path) })
  const changes = await plan(change, view)
  if (changes.length === 0) {
    const [last] = await listHistory(change, view.revision)
    return { revision: last?.revision ?? view.revision, isNew: false }
  }
  const { revision } = await commit(change, { branch: head, from: branch, changes, base: undefined })
  const pull = await ensurePull(session, { ...place, title: work.title, description: work.description })
  return { revision, isNew: true, pull }
}

/** Returns the files to write. */
async function plan({ work, from }: Change, to: RepositoryView): Promise<FileChange[]> {
  const named = Object.entries(work.promotion)
  const texts = named.length === 0 ? await copyAll(from, to) : await copyValues(named, from, to)
  const folder = folderOf(work.target.path)
  return texts.map(([path, text]) => ({ path: folder === '' ? path : `${folder}/${path}`, content: Buffer.from(text) }))
}

type Text = readonly [path: string, text: string]

async function copyValues(named: [string, { jsonPaths: string[] }][], from: RepositoryView, to: RepositoryView): Promise<Text[]> {
  const changed: Text[] = []
  for (const [path, { jsonPaths }] of named) {
    const [source, target] = await Promise.all([from.read(path), to.read(path)])
    const promoted = promoteValues({ path, source, target }, jsonPaths)
    if ('problem' in promoted)
      throw fault('request-invalid', { message: promoted.problem, hint: 'Correct the files, or the template of the product.' })
    if (promoted.text !== target) changed.push([path, promoted.text])
  }
  return changed
}

/** All files of the folder. Files that only the target has stay. */
async function copyAll(from: RepositoryView, to: RepositoryView): Promise<Text[]> {
  const changed: Text[] = []
  for (const path of await listFiles(from, FILES)) {
    const [source, target] = await Promise.all([from.read(path), to.read(path)])
    if (source !== undefined && source !== target) changed.push([path, source])
  }
  return changed
}
