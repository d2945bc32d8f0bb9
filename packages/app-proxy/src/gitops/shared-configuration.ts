/** Chooses the shared configuration repository of the account, and adds this runtime to it. */
import {
  clusterPath,
  clustersFolder,
  editInClusterFile,
  IN_CLUSTER,
  inClusterFile,
  isConfigurationFile,
  namespaceOfFile,
  KEEP_FILE,
  runtimeApplication,
  runtimeFolder,
  SHARED_FOLDERS,
  type RuntimePlace,
  type SharedPlace,
} from '@windlass/gitops'
import { fault, type Fault } from '@windlass/kit'
import type {
  SharedConfiguration,
  SharedConfigurationChange,
  SharedConfigurationInput,
  SharedConfigurationRemoval,
} from '@windlass/protocol'
import type { ControlPlane } from './control-plane.ts'
import { removeRuntime, type RemovalOptions } from './remove-runtime.ts'
import type { RepositoryView } from './repository-view.ts'
import type { Files, Plan, RepositoryBranch } from './repository-branch.ts'
import type { GitopsCall } from './user-repositories.ts'

export interface SharedConfigurations {
  /** Throws what `SharedRepositories.open` throws. */
  show(call: GitopsCall): Promise<SharedConfiguration>
  /**
   * Checks the repository, chooses it for the account unless it has one, and commits the folders and the files of this runtime that are missing. Files that are there keep
   * what people have added. Throws `conflict` if the account has another repository, and what `RepositoryBranch.change` throws.
   */
  set(call: GitopsCall, input: SharedConfigurationInput): Promise<SharedConfigurationChange>
  /** Removes this runtime: its applications from the cluster, then its files. What they have applied stays. Throws what `removeRuntime` throws. */
  remove(call: GitopsCall): Promise<SharedConfigurationRemoval>
}

export interface SharedConfigurationOptions extends RemovalOptions {
  readonly controlPlane: ControlPlane
}

export function openSharedConfigurations({
  shared,
  controlPlane,
  place,
  detach,
}: SharedConfigurationOptions): SharedConfigurations {
  const ownFile = clusterPath(place.runtime, IN_CLUSTER)

  function toShown({ url, place: at }: RepositoryBranch, revision: string, text: string | undefined): SharedConfiguration {
    return {
      repository: url,
      branch: at.branch,
      revision,
      hasRuntime: text !== undefined,
      isConfigurationRuntime: text !== undefined && isConfigurationFile(text) === true,
      application: runtimeApplication(at, place),
    }
  }

  return {
    async show(call) {
      const repository = await shared.open(call)
      const view = await repository.view()
      return toShown(repository, view.revision, await view.read(ownFile))
    },
    async set(call, { repository: wanted, isConfigurationRuntime, message }) {
      const repository = wanted === undefined ? await shared.open(call) : await shared.openAt(call, wanted)
      // Before it is chosen.
      repository.requirePush()
      await repository.view()
      if (wanted !== undefined) await controlPlane.choose(call.key, wanted)
      const { commit, result } = await repository.change((view) =>
        planSetUp(view, { shared: repository.place, place, isConfigurationRuntime, message }),
      )
      return { configuration: toShown(repository, commit.revision, result), commit }
    },
    remove: (call) => removeRuntime(call, { shared, place, detach }),
  }
}

interface SetUp {
  readonly shared: SharedPlace
  readonly place: RuntimePlace
  readonly isConfigurationRuntime: boolean | undefined
  readonly message: string | undefined
}

/** Plans the folders that are missing and the file of the runtime. The result is the text of this file. */
async function planSetUp(view: RepositoryView, setUp: SetUp): Promise<Plan<string>> {
  const { shared, place, message } = setUp
  const { runtime } = place
  const folders = [...SHARED_FOLDERS, runtimeFolder(runtime)]
  const found = await Promise.all(folders.map(async (folder) => ({ folder, entries: await view.entries(folder) })))
  const files = new Map<string, string | undefined>()
  for (const { folder, entries } of found) if (entries.length === 0) files.set(`${folder}/${KEEP_FILE}`, '')
  const path = clusterPath(runtime, IN_CLUSTER)
  const before = await view.read(path)
  if (before !== undefined) requireNamespace(before, place)
  if (place.isHosted === true && setUp.isConfigurationRuntime === true) throw notForHosted(runtime)
  const isConfigurationRuntime =
    setUp.isConfigurationRuntime ??
    (before === undefined ? place.isHosted !== true && (await isFirst(view)) : isConfigurationFile(before) === true)
  const text =
    before === undefined
      ? inClusterFile(shared, place, { isConfigurationRuntime })
      : editInClusterFile(before, shared, { ...place, isConfigurationRuntime })
  if (text === undefined) throw foreignFile(path)
  if (text !== before) files.set(path, text)
  return { message: message ?? `Set up the GitOps runtime ${runtime}`, files, result: text }
}

function notForHosted(runtime: string): Fault {
  return fault('not-supported', {
    message: `The GitOps runtime "${runtime}" is hosted, and applies nothing but its Git sources to its own cluster, so it is no configuration runtime.`,
    hint: 'Choose a runtime in a cluster of your own with `windlass gitops config set NAME --configuration-runtime`.',
  })
}

/** Throws `conflict` for files of an installation in another namespace: all of them name it. */
function requireNamespace(text: string, { runtime, namespace }: RuntimePlace): void {
  const found = namespaceOfFile(text)
  if (found === undefined || found === namespace) return
  throw fault('conflict', {
    message: `The shared configuration repository has the GitOps runtime "${runtime}" in the namespace "${found}", and this one is in "${namespace}".`,
    hint: `Install the runtime in that namespace, or remove its files first with \`windlass gitops config remove ${runtime}\`.`,
  })
}

async function isFirst(view: RepositoryView): Promise<boolean> {
  return (await view.entries('runtimes')).every(({ type }) => type !== 'folder')
}

/** Returns the fault of a file whose place is that of another one. */
export function foreignFile(path: string): Fault {
  return fault('conflict', {
    message: `The file "${path}" of the shared configuration repository is not one of this kind.`,
    hint: 'Rename or remove it with git, then repeat the call.',
  })
}

/** Throws `not-found` unless the repository has the files of the runtime. */
export async function requireRuntime(view: RepositoryView, runtime: string): Promise<void> {
  if ((await view.read(clusterPath(runtime, IN_CLUSTER))) !== undefined) return
  throw fault('not-found', {
    message: `The shared configuration repository has no files of the GitOps runtime "${runtime}".`,
    hint: `An admin adds them with \`windlass gitops config set ${runtime}\`.`,
  })
}

/** Returns the names of the managed clusters that the repository has for a runtime. */
export async function listClusterNames(view: RepositoryView, runtime: string): Promise<string[]> {
  const entries = await view.entries(clustersFolder(runtime))
  return entries.flatMap(({ name, type }) => {
    const cluster = type === 'file' && name.endsWith('.yaml') ? name.slice(0, -'.yaml'.length) : IN_CLUSTER
    return cluster === IN_CLUSTER ? [] : [cluster]
  })
}

/** Files of one change. */
export function oneFile(path: string, text: string | undefined): Files {
  return new Map([[path, text]])
}
