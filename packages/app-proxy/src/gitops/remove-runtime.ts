/** Removes a runtime from the shared configuration repository: the runtime does not apply it any more, and one commit deletes its files. */
import { chartFolder, clustersFolder, KEEP_FILE, runtimeFolder, type RuntimePlace } from '@windlass/gitops'
import type { SharedConfigurationRemoval } from '@windlass/protocol'
import { noteEffect } from '../audit/call.ts'
import { listFiles } from './list-files.ts'
import type { RepositoryView } from './repository-view.ts'
import type { Plan } from './repository-branch.ts'
import type { SharedRepositories } from './shared-repository.ts'
import type { GitopsCall } from './user-repositories.ts'

/** Files and folders of one runtime. */
const LIMITS = { files: 2_000, folders: 200 } as const

export interface RemovalOptions {
  readonly shared: SharedRepositories
  readonly place: RuntimePlace
  /** Removes the applications of the runtime from the cluster. */
  readonly detach: () => Promise<unknown>
}

/** Throws `forbidden` without the right to push, before anything has changed, and what `RepositoryBranch.change` throws. */
export async function removeRuntime(
  call: GitopsCall,
  { shared, place, detach }: RemovalOptions,
): Promise<SharedConfigurationRemoval> {
  const repository = await shared.open(call)
  repository.requirePush()
  await planRemoval(await repository.view(), place)
  await call.confirm()
  // Argo CD would delete what an application has applied if a person has given its file a finalizer, so it must not see the commit.
  noteEffect()
  await detach()
  const { commit, result } = await repository.change((view) => planRemoval(view, place))
  return { applications: result, commit }
}

/** The result is the number of files of applications. */
async function planRemoval(view: RepositoryView, { runtime }: RuntimePlace): Promise<Plan<number>> {
  const applications = [clustersFolder(runtime), runtimeFolder(runtime)]
  const chart = chartFolder(runtime)
  const limits = {
    ...LIMITS,
    what: `The GitOps runtime "${runtime}"`,
    hint: `Remove its folders with git: ${applications.join(', ')}.`,
  }
  const found = await listFiles(view, limits, applications)
  const ofChart = chart === undefined ? [] : await listFiles(view, limits, [chart])
  const files = new Map([...found, ...ofChart].map((path) => [path, undefined] as const))
  const count = found.filter((path) => !path.endsWith(`/${KEEP_FILE}`)).length
  return { message: `Remove the GitOps runtime ${runtime}`, files, result: count }
}
