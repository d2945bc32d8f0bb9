/** The Git sources of a runtime: files in the shared configuration repository that let Argo CD apply further repositories. */
import {
  editGitSource,
  gitSourceFile,
  gitSourcePath,
  IN_CLUSTER,
  isSameGitSource,
  ownProject,
  readGitSource,
  runtimeApplicationName,
  runtimeFolder,
  toGitSource,
  type NamedInput,
  type RuntimePlace,
} from '@windlass/gitops'
import { fault, isFault } from '@windlass/kit'
import {
  splitRepositoryUrl,
  type GitSource,
  type GitSourceChange,
  type GitSourceInput,
  type ListedGitSource,
  type NewGitSource,
  type RepositoryChange,
} from '@windlass/protocol'
import { readList } from '../forge/browse.ts'
import { readIfText, type RepositoryView } from './repository-view.ts'
import { foreignFile, listClusterNames, oneFile, requireRuntime } from './shared-configuration.ts'
import { noteSubject } from '../audit/call.ts'
import type { Plan } from './repository-branch.ts'
import type { SharedRepositories } from './shared-repository.ts'
import type { GitopsCall, UserRepositories } from './user-repositories.ts'

/** Files that are read at once. */
const READS = 8
/** Files of a runtime that are read for a list. */
const MAX_FILES = 500

export interface GitSources {
  /** Lists them by name. Files that are something else are left out. */
  list(call: GitopsCall): Promise<readonly ListedGitSource[]>
  /** Creates one. The same one again makes no commit. Throws `conflict` if the name is in use, and `not-found` if its repository or branch does not exist. */
  create(call: GitopsCall, input: NewGitSource): Promise<GitSourceChange>
  /** Changes one. Name and type stay. Throws like `create`, and `not-found` if it does not exist. */
  edit(call: GitopsCall, input: GitSourceInput & { readonly name: string }): Promise<GitSourceChange>
  /** Removes one. The applications that Argo CD made from it stay. Throws `not-found`. */
  remove(call: GitopsCall, name: string): Promise<RepositoryChange>
}

export interface GitSourcesOptions {
  readonly shared: SharedRepositories
  readonly repositories: UserRepositories
  readonly place: RuntimePlace
  /** True for a runtime that is limited to its namespace. It has no restricted Git sources, whose applications are in other ones. */
  readonly isNamespaced: boolean
}

export function openGitSources({ shared, repositories, place, isNamespaced }: GitSourcesOptions): GitSources {
  const { runtime, namespace } = place
  const toListed = (source: GitSource): ListedGitSource => ({ ...source, file: gitSourcePath(runtime, source.name) })
  /** In a hosted runtime the application of a Git source changes the namespace of the runtime, so it has the project for that. */
  const withProject = <Input extends NewGitSource | NamedInput>(input: Input): Input =>
    place.isHosted === true && input.type === 'standard' ? { ...input, project: ownProject(place) } : input

  async function planNew(view: RepositoryView, input: NewGitSource): Promise<Plan<GitSource>> {
    await requireRuntime(view, runtime)
    const path = gitSourcePath(runtime, input.name)
    const before = await view.read(path)
    const wanted = toGitSource(input)
    const message = input.message ?? `Create the Git source ${input.name} of the GitOps runtime ${runtime}`
    if (before !== undefined) {
      const found = readGitSource(before)
      if (found !== undefined && isSameGitSource(found, wanted)) return { message, files: new Map(), result: found }
      throw inUse(input.name, found === undefined ? `the file "${path}" has it` : 'another Git source has it')
    }
    const isReserved = [IN_CLUSTER, runtime, runtimeApplicationName(runtime)].includes(input.name)
    if (isReserved) throw inUse(input.name, 'an application of the runtime has it')
    if ((await listClusterNames(view, runtime)).includes(input.name)) throw inUse(input.name, 'a managed cluster has it')
    return { message, files: oneFile(path, gitSourceFile(input, namespace)), result: wanted }
  }

  return {
    async list(call) {
      const view = await (await shared.open(call)).view()
      const entries = await view.entries(runtimeFolder(runtime))
      const paths = entries.flatMap(({ name, type }) =>
        type === 'file' && /\.ya?ml$/.test(name) ? [`${runtimeFolder(runtime)}/${name}`] : [],
      )
      if (paths.length > MAX_FILES)
        throw fault('file-too-large', { message: `The GitOps runtime has more than ${MAX_FILES} files.` })
      const found: ListedGitSource[] = []
      for (let at = 0; at < paths.length; at += READS)
        found.push(...(await Promise.all(paths.slice(at, at + READS).map((path) => readOne(view, path)))).flat())
      return found.toSorted((one, other) => (one.name < other.name ? -1 : 1))
    },
    async create(call, given) {
      const input = withProject(given)
      noteSubject(`Git source ${input.name}`)
      if (isNamespaced && input.type === 'restricted')
        throw fault('request-invalid', {
          message: `The GitOps runtime "${runtime}" is limited to its namespace, and the applications of a restricted Git source are in another one.`,
          hint:
            place.isHosted === true
              ? 'Create a standard Git source.'
              : 'Create a standard Git source, or install the runtime without global.runtime.singleNamespace.',
        })
      const repository = await shared.open(call)
      const isChecked = await checkRepository(repositories, call, input.repository)
      const { commit, result } = await repository.change((view) => planNew(view, input))
      return { gitSource: toListed(result), commit, isChecked }
    },
    async edit(call, given) {
      const input = withProject(given)
      const repository = await shared.open(call)
      const isChecked = await checkRepository(repositories, call, input.repository)
      const { commit, result } = await repository.change(async (view) => {
        const path = gitSourcePath(runtime, input.name)
        const before = await requireSource(view, path, input.name)
        if (before.source.type !== input.type)
          throw fault('request-invalid', {
            message: `The Git source "${input.name}" has the type ${before.source.type}, which never changes.`,
            hint: 'Delete it, and create another one.',
          })
        const text = editGitSource(before.text, input)
        if (text === undefined) throw foreignFile(path)
        const message = input.message ?? `Change the Git source ${input.name} of the GitOps runtime ${runtime}`
        const files = text === before.text ? new Map<string, string>() : oneFile(path, text)
        return { message, files, result: readGitSource(text) ?? toGitSource(input) }
      })
      return { gitSource: toListed(result), commit, isChecked }
    },
    async remove(call, name) {
      const repository = await shared.open(call)
      const { commit } = await repository.change(async (view) => {
        const path = gitSourcePath(runtime, name)
        await requireSource(view, path, name)
        const message = `Delete the Git source ${name} of the GitOps runtime ${runtime}`
        return { message, files: oneFile(path, undefined), result: undefined }
      })
      return commit
    },
  }
}

async function readOne(view: RepositoryView, file: string): Promise<ListedGitSource[]> {
  const text = await readIfText(view, file)
  const source = text === undefined ? undefined : readGitSource(text)
  return source === undefined ? [] : [{ ...source, file }]
}

interface FoundSource {
  readonly text: string
  readonly source: GitSource
}

/** Throws `not-found`, and `conflict` for a file that is something else. */
async function requireSource(view: RepositoryView, path: string, name: string): Promise<FoundSource> {
  const text = await view.read(path)
  if (text === undefined)
    throw fault('not-found', {
      message: `The Git source "${name}" does not exist.`,
      hint: 'List those of the runtime with `windlass gitops git-source list RUNTIME`.',
    })
  const source = readGitSource(text)
  if (source === undefined || source.name !== name) throw foreignFile(path)
  return { text, source }
}

function inUse(name: string, why: string): Error {
  return fault('conflict', { message: `The name "${name}" is in use: ${why}.`, hint: 'Use another name.' })
}

/**
 * Asks the forge for the branch and the folder of a repository. Returns false if the runtime knows no integration for its host: Argo CD may still reach it. Throws
 * `request-invalid` for a URL without TLS that no integration has, and `not-found`.
 */
async function checkRepository(repositories: UserRepositories, call: GitopsCall, url: string): Promise<boolean> {
  const { clone, path, branch } = splitRepositoryUrl(url)
  const found = await repositories.find(call, clone)
  if (found === undefined) {
    if (clone.startsWith('https://')) return false
    throw fault('request-invalid', {
      message: `Invalid URL: ${clone} must begin with https://, unless a Git integration has its host.`,
    })
  }
  if (branch === undefined && path === '') return true
  const { session, repo, facts } = found
  const ref = branch ?? facts.defaultBranch
  const tree = readList(session, session.browser.tree({ repo, ref, path }), undefined)
  const entries = await tree.catch((error: unknown) => {
    if (isFault(error, 'not-found')) return undefined
    throw error
  })
  if (entries !== undefined) return true
  throw fault('not-found', {
    message: `"${repo}" has no branch "${ref ?? ''}", or no folder "${path}" on it.`,
    hint: 'Push the folder first, or name another one: https://HOST/OWNER/NAME.git/FOLDER?ref=BRANCH.',
  })
}
