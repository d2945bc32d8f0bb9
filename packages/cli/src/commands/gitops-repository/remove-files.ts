/** Removes the files of a GitOps runtime from the shared configuration repository, for `gitops config remove` and `gitops uninstall`. */
import type { Settings } from '../../config.ts'
import type { Printer } from '../../printer.ts'
import { COMMIT_TIMEOUT, openRuntime, printChange } from './runtime-session.ts'

/** Names the folders of a runtime, for messages. */
export function foldersOf(runtime: string): string {
  return `runtimes/${runtime}, resources/runtimes/${runtime} and resources/${runtime}/chart`
}

export interface RemovedFiles {
  readonly runtime: string
  /** URL of the runtime; undefined for that of its tunnel. */
  readonly url: string | undefined
  readonly out: Printer
}

/** Throws what the runtime answers. */
export async function removeFiles(settings: Settings, { runtime, url, out }: RemovedFiles): Promise<void> {
  const { calls } = await openRuntime(settings, { runtime, url })
  const { applications, commit } = await calls.removeConfiguration(COMMIT_TIMEOUT)
  printChange(out, `gitops-runtime/${runtime}`, { verb: 'removed from the repository', commit })
  if (commit.isNew) out.note(`Files of applications that were removed: ${applications}`)
}
