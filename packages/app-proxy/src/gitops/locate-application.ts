/** Finds the Git source and the file of an application, or says why there is none. */
import { problemOfFile } from '@windlass/gitops'
import { fault } from '@windlass/kit'
import type { ListedGitSource, OtherChange } from '@windlass/protocol'
import type { Applications } from '../argo/applications.ts'
import { parentOf, type ApplicationManifest } from '../argo/manifest.ts'
import { problemOfPath } from '../commit/paths.ts'
import { searchSources, type FoundApplication } from './find-application.ts'
import type { GitSources } from './git-sources.ts'
import type { RepositoryBranches } from './repository-branch.ts'
import type { GitopsCall } from './user-repositories.ts'

export interface LocatorOptions {
  readonly gitSources: GitSources
  readonly branches: RepositoryBranches
  readonly applications: Pick<Applications, 'find'>
}

/** Searches one Git source if `wanted` names it, otherwise all. Throws `not-found`, and `conflict` with the reason for an application that no Git source has. */
type Locator = (call: GitopsCall, name: string, wanted: string | undefined) => Promise<FoundApplication>

export function openLocator({ gitSources, branches, applications }: LocatorOptions): Locator {
  return async (call, name, wanted) => {
    const all = await gitSources.list(call)
    const live = await applications.find(name)
    const first = wanted ?? (live && parentOf(live))
    const sources =
      wanted === undefined
        ? all.toSorted((a, b) => Number(b.name === first) - Number(a.name === first))
        : [requireSource(all, wanted)]
    const { found, unsearched } = await searchSources(branches, call, { sources, name, required: first })
    if (found !== undefined) return found
    const where =
      wanted === undefined
        ? `No Git source of the runtime has the application "${name}".`
        : `The Git source "${wanted}" does not have the application "${name}".`
    if (live !== undefined) throw notInGit([where, ...unsearched], live)
    throw fault('not-found', {
      message: [where, ...unsearched].join(' '),
      hint: 'List the applications with `windlass gitops app list RUNTIME`, or create it with `windlass gitops app create`.',
    })
  }
}

function notInGit(lines: readonly string[], live: ApplicationManifest): Error {
  const parent = parentOf(live)
  const set = live.metadata.ownerReferences.find(({ kind }) => kind === 'ApplicationSet')
  const [why, hint] =
    set !== undefined
      ? [`The set of applications "${set.name}" has created it.`, 'Change the template of the set.']
      : parent !== undefined
        ? [`Argo CD has created it for the application "${parent}".`, 'Change the file in the repository of that application.']
        : [
            'It was created in the cluster, not from Git.',
            'Delete it with `windlass gitops app delete --cascade none`, which keeps its objects, then use `windlass gitops app create`.',
          ]
  return fault('conflict', { message: [...lines, why].join(' '), hint })
}

export function requireSource(all: readonly ListedGitSource[], name: string): ListedGitSource {
  const found = all.find((source) => source.name === name)
  if (found !== undefined) return found
  throw fault('not-found', {
    message: `The Git source "${name}" does not exist.`,
    hint: 'List those of the runtime with `windlass gitops git-source list RUNTIME`.',
  })
}

export function requireOnly(all: readonly ListedGitSource[]): ListedGitSource {
  const [only] = all
  if (only !== undefined && all.length === 1) return only
  if (only === undefined)
    throw fault('not-found', {
      message: 'The runtime has no Git source, so there is no place for an application.',
      hint: 'Create one with `windlass gitops git-source create RUNTIME NAME --git-src-repo URL`.',
    })
  throw fault('request-invalid', {
    message: `The runtime has several Git sources: ${all.map(({ name }) => name).join(', ')}.`,
    hint: 'Say which one gets the application: --git-source NAME.',
  })
}

/** Throws `request-invalid` for a file that Argo CD would not apply. */
export function requireFile(file: string, source: ListedGitSource): string {
  const problem = problemOfPath(file) ?? problemOfFile(file, source)
  if (problem === undefined) return file
  throw fault('request-invalid', { message: `The file "${file}" ${problem}.`, hint: 'Name another file of the Git source.' })
}

export function inUse(name: string, why: string): Error {
  return fault('conflict', {
    message: `The name "${name}" is in use: ${why}.`,
    hint: 'Use another name, or `windlass gitops app edit`.',
  })
}

export function goneMeanwhile(name: string, file: string): Error {
  return fault('conflict', {
    message: `The file ${file} does not have the application "${name}" anymore.`,
    hint: 'Repeat the call.',
  })
}

/** Returns the fault of a change that begins at a commit where the file does not have the application: it was in another file, or the history was rewritten. */
export function elsewhereBefore(name: string, { file, base }: { readonly file: string; readonly base: string }): Error {
  return fault('git-conflict', {
    message: `The file ${file} does not have the application "${name}" at the commit ${base}, where the change begins, so nothing was committed.`,
    hint: 'Load the application again, and make the change there.',
  })
}

/** Returns the fault of a change that meets another one of the same lines or fields. */
export function metOther(file: string, other: OtherChange | undefined): Error {
  const what = other === undefined ? 'Another commit' : `The commit ${other.revision} of ${other.author} ("${other.subject}")`
  return fault('git-conflict', {
    message: `${what} has changed the same fields or lines of ${file} meanwhile, so nothing was committed.`,
    other,
  })
}
