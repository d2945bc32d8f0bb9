/** Applications as files in Git sources: new ones and changes, each one commit of the caller, which Argo CD applies. */
import {
  editToManifest,
  findApplication,
  homeOf,
  IN_CLUSTER,
  isSameManifest,
  mergeDocuments,
  newApplicationText,
  pathInRepository,
  problemsOfApplication,
  replaceDocument,
  runtimeApplicationName,
  withFields,
  type ApplicationText,
  type ManifestProblem,
  type RuntimePlace,
} from '@windlass/gitops'
import { defined, fault, isFault } from '@windlass/kit'
import type {
  ApplicationChange,
  ApplicationEdit,
  ApplicationFile,
  ListedGitSource,
  NewApplication,
  OtherChange,
} from '@windlass/protocol'
import type { Applications } from '../argo/applications.ts'
import { noteDryRun, noteSubject } from '../audit/call.ts'
import { findInFile, findInSource, openSource, searchSources, type FoundFile, type OpenSource } from './find-application.ts'
import type { GitSources } from './git-sources.ts'
import {
  elsewhereBefore,
  goneMeanwhile,
  inUse,
  metOther,
  openLocator,
  requireFile,
  requireOnly,
  requireSource,
} from './locate-application.ts'
import type { Changed, Plan, RepositoryBranch, RepositoryBranches } from './repository-branch.ts'
import type { RepositoryView } from './repository-view.ts'
import { oneFile } from './shared-configuration.ts'
import type { GitopsCall } from './user-repositories.ts'

export interface ApplicationFiles {
  /** Returns the manifest that a Git source has. Throws `not-found`, and `conflict` for an application that no Git source has. */
  show(call: GitopsCall, name: string, gitSource: string | undefined): Promise<ApplicationFile>
  /**
   * Commits the manifest of a new application. The same one again makes no commit. Throws `request-invalid` for a manifest that Argo CD or the Git source would refuse,
   * `conflict` if the name or the file is in use, and what `RepositoryBranch.change` throws.
   */
  create(call: GitopsCall, input: NewApplication): Promise<ApplicationChange>
  /**
   * Commits a change of a manifest. What other commits have changed since the base stays. Throws like `show` and `create`, and `git-conflict` if another commit has changed
   * the same lines.
   */
  edit(call: GitopsCall, name: string, input: ApplicationEdit): Promise<ApplicationChange>
}

export interface ApplicationFilesOptions {
  readonly gitSources: GitSources
  readonly branches: RepositoryBranches
  readonly applications: Pick<Applications, 'find' | 'askRefresh'>
  readonly place: RuntimePlace
  /** True if applications of other namespaces, which are those of restricted Git sources, can be read. */
  readonly seesOthers: boolean
}

/** What a plan changes. */
interface Written {
  /** From the folder of the Git source. */
  readonly file: string
  readonly before: string | undefined
  readonly after: string
  readonly others: readonly OtherChange[]
}

interface Made {
  readonly open: OpenSource
  readonly name: string
  readonly isDryRun: boolean
}

export function openApplicationFiles({
  gitSources,
  branches,
  applications,
  place,
  seesOthers,
}: ApplicationFilesOptions): ApplicationFiles {
  const { runtime, namespace } = place
  const locate = openLocator({ gitSources, branches, applications })

  /** Throws `request-invalid` with what is wrong. */
  function requireManifest(text: string, name: string, source: ListedGitSource): void {
    refuse(name, problemsOfApplication(text, name, { source, place }))
  }

  /** Commits a plan, or only makes it, and lets Argo CD look at the Git source. */
  async function make(
    { open, name, isDryRun }: Made,
    plan: (view: RepositoryView) => Promise<Plan<Written>>,
  ): Promise<ApplicationChange> {
    const { branch, source } = open
    const isVisible = seesOthers || source.type === 'standard'
    noteSubject(`application ${name} in the Git source ${source.name}`)
    if (isDryRun) {
      noteDryRun()
      const view = await branch.view()
      return toChange(open, name, { revision: view.revision, result: (await plan(view)).result, isVisible })
    }
    const changed = await branch.change(plan)
    const { commit, result } = changed
    const refreshed = commit.isNew ? await refresh(source.name) : {}
    return toChange(open, name, { revision: commit.revision, result, changed, ...refreshed, isVisible })
  }

  /** The commit is made, so a cluster that does not answer fails no call: Argo CD finds the commit later. */
  async function refresh(source: string): Promise<Pick<Outcome, 'isRefreshed' | 'refreshProblem'>> {
    try {
      return { isRefreshed: await applications.askRefresh(source) }
    } catch (error) {
      if (!isFault(error)) throw error
      return { refreshProblem: error.message }
    }
  }

  /** Throws `conflict` if another Git source or the cluster has the name. Git sources that the caller cannot read are not asked. */
  async function requireFree(
    call: GitopsCall,
    name: string,
    { all, source }: { readonly all: readonly ListedGitSource[]; readonly source: ListedGitSource },
  ): Promise<void> {
    if ([IN_CLUSTER, runtime, runtimeApplicationName(runtime), ...all.map((other) => other.name)].includes(name))
      throw inUse(name, 'an application of the runtime itself has it')
    const others = all.filter((other) => other.name !== source.name)
    const { found } = await searchSources(branches, call, { sources: others, name })
    if (found !== undefined) throw inUse(name, `the file ${found.file} of the Git source "${found.source.name}" has it`)
    // The applications of restricted Git sources are in other namespaces.
    if (source.type === 'standard' && (await applications.find(name)) !== undefined)
      throw inUse(name, 'the cluster has an application with it, which no Git source has')
  }

  return {
    async show(call, name, gitSource) {
      const { source, branch, file } = await locate(call, name, gitSource)
      const view = await branch.view()
      const found = await findInFile(view, file, name)
      if (found === undefined) throw goneMeanwhile(name, file)
      return { ...placeOf({ source, branch }, name, { revision: view.revision, file }), text: found.document.text }
    },
    async create(call, input) {
      const { name } = input
      const all = await gitSources.list(call)
      const source = input.gitSource === undefined ? requireOnly(all) : requireSource(all, input.gitSource)
      const text = input.manifest ?? requireText(name, newApplicationText(name, input.fields ?? {}, homeOf(source, namespace)))
      requireManifest(text, name, source)
      const file = requireFile(input.file ?? `${name}.yaml`, source)
      const open = await openSource(branches, call, source)
      return make({ open, name, isDryRun: input.dryRun }, async (view) => {
        const message = input.message ?? `Create the application ${name}`
        const found = await findInSource(view, open, name)
        if (found !== undefined) {
          if (!isSameManifest(found.document.text, text))
            throw inUse(name, `the file ${found.file} of the Git source "${source.name}" has it`)
          return { message, files: new Map(), result: { file: found.file, before: found.text, after: found.text, others: [] } }
        }
        await requireFree(call, name, { all, source })
        if ((await view.read(file)) !== undefined)
          throw fault('conflict', {
            message: `The Git source "${source.name}" has a file ${file} with something else.`,
            hint: 'Name another file.',
          })
        return { message, files: oneFile(file, text), result: { file, before: undefined, after: text, others: [] } }
      })
    },
    async edit(call, name, input) {
      const { source, branch, file } = await locate(call, name, input.gitSource)
      const open = { source, branch }
      let { base } = input
      return make({ open, name, isDryRun: input.dryRun }, async (view) => {
        // Later tries start from it too, so that they see what others have changed.
        base ??= view.revision
        const now = await findInFile(view, file, name)
        if (now === undefined) throw goneMeanwhile(name, file)
        const seen = base === view.revision ? now : await findInFile(branch.viewAt(base), file, name)
        // What others have changed since is not known then, and must not be undone.
        if (seen === undefined) throw elsewhereBefore(name, { file, base })
        const own = requireText(name, changedText(seen.document.text, input, { name, source, place }))
        requireManifest(own, name, source)
        const other = seen.text === now.text ? undefined : await branch.lastChange(file, view.revision)
        const after = await onTopOf({ seen, now, own, branch, isText: input.text !== undefined })
        if (after === undefined) throw metOther(file, other)
        const document = findApplication(after, name)
        if (document === undefined) throw goneMeanwhile(name, file)
        requireManifest(document.text, name, source)
        return {
          message: input.message ?? `Change the application ${name}`,
          files: after === now.text ? new Map<string, string>() : oneFile(file, after),
          result: { file, before: now.text, after, others: other === undefined ? [] : [other] },
        }
      })
    },
  }
}

interface Merging {
  readonly seen: FoundFile
  readonly now: FoundFile
  /** The own version of the document that was seen. */
  readonly own: string
  readonly branch: RepositoryBranch
  readonly isText: boolean
}

/** Returns the file of now with the own change: of lines for a text, of fields otherwise. Undefined if others have changed the same ones. */
async function onTopOf({ seen, now, own, branch, isText }: Merging): Promise<string | undefined> {
  if (isText || seen.text === now.text)
    return branch.merge({ base: seen.text, own: replaceDocument(seen.text, seen.document, own), other: now.text })
  const merged = mergeDocuments({ base: seen.document.text, own, other: now.document.text })
  return merged === undefined ? undefined : replaceDocument(now.text, now.document, merged)
}

interface Changing {
  readonly name: string
  readonly source: ListedGitSource
  readonly place: RuntimePlace
}

function changedText(
  before: string,
  { fields, manifest, text }: ApplicationEdit,
  { name, source, place }: Changing,
): ApplicationText {
  if (fields !== undefined) return withFields(before, fields)
  if (text !== undefined) return { text }
  const wanted = manifest ?? ''
  // Its places are those of the text that the caller has.
  const problems = problemsOfApplication(wanted, name, { source, place })
  if (problems.length > 0) return { problems }
  const edited = editToManifest(before, wanted)
  return edited === undefined
    ? { problems: [{ message: 'The file in Git cannot be changed field by field.', hint: 'Change it as a text.' }] }
    : { text: edited }
}

function placeOf(
  { source, branch }: OpenSource,
  name: string,
  { revision, file }: { readonly revision: string; readonly file: string },
): Omit<ApplicationFile, 'text'> {
  const { clone, branch: ref } = branch.place
  return { name, gitSource: source.name, repository: clone, branch: ref, file: pathInRepository(source, file), revision }
}

function distinct(others: readonly OtherChange[]): OtherChange[] {
  return [...new Map(others.map((other) => [other.revision, other])).values()]
}

interface Outcome {
  readonly revision: string
  readonly result: Written
  /** Absent if nothing was to be changed. */
  readonly changed?: Changed<Written>
  readonly isRefreshed?: boolean
  /** Why the application of the Git source was not asked. */
  readonly refreshProblem?: string
  readonly isVisible: boolean
}

function toChange(
  open: OpenSource,
  name: string,
  { revision, result, changed, isRefreshed = false, refreshProblem, isVisible }: Outcome,
): ApplicationChange {
  const { file, before, after, others } = result
  return {
    ...placeOf(open, name, { revision, file }),
    ...(before !== undefined && { before }),
    after,
    ...(changed !== undefined && { commit: changed.commit }),
    others: distinct([...(changed?.others ?? []), ...others]),
    isRefreshed,
    isVisible,
    ...defined({ refreshProblem }),
  }
}

function requireText(name: string, made: ApplicationText): string {
  if (made.problems === undefined) return made.text
  throw refused(name, made.problems)
}

function refuse(name: string, problems: readonly ManifestProblem[]): void {
  if (problems.length > 0) throw refused(name, problems)
}

function refused(name: string, problems: readonly ManifestProblem[]): Error {
  return fault('request-invalid', {
    message: `The manifest of the application "${name}" is not valid, so nothing was committed.`,
    hint: 'Correct what `problems` names, and repeat the call.',
    problems: problems.map((problem) => ({ ...problem, severity: 'error' })),
  })
}
