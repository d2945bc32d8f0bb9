/** `gitops config`: the shared configuration repository. */
import type { GitopsRuntimeCalls } from '@windlass/client/gitops-runtime'
import { isFault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatTime } from '../../format/time.ts'
import { deletionConfirmation } from '../../runner/init/prompter.ts'
import { openSession } from '../../session/session.ts'
import { foldersOf, removeFiles } from './remove-files.ts'
import { COMMIT_TIMEOUT, openRuntime, printChange } from './runtime-session.ts'

type Format = 'json' | 'yaml' | undefined

/** Runs `gitops config get`. */
export async function getConfig({ options, out, settings }: Invocation<{ output: Format }>): Promise<void> {
  const found = await openSession(settings).client.gitopsSettings.get()
  if (options.output !== undefined) return printValue(out, found, options.output)
  const { sharedRepository, changedBy, changedAt } = found
  if (sharedRepository === undefined) return out.note('The account has no shared configuration repository.')
  const rows = [
    ['Repository:', sharedRepository],
    ['Chosen by:', changedBy ?? ''],
    ['Chosen at:', formatTime(changedAt)],
  ]
  for (const line of alignColumns(rows)) out.line(line)
  return undefined
}

interface SetOptions {
  readonly sharedConfigRepo: string | undefined
  readonly configurationRuntime: boolean | undefined
  readonly message: string | undefined
  readonly runtimeUrl: string | undefined
  readonly output: Format
}

/** Runs `gitops config set RUNTIME`. */
export async function setConfig({ args, options, out, settings }: Invocation<SetOptions>): Promise<void> {
  const [runtime = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const change = await calls.setConfiguration(
    {
      repository: options.sharedConfigRepo,
      isConfigurationRuntime: options.configurationRuntime,
      message: options.message,
    },
    COMMIT_TIMEOUT,
  )
  if (options.output !== undefined) return printValue(out, change, options.output)
  const { repository, isConfigurationRuntime } = change.configuration
  printChange(out, `gitops-runtime/${runtime}`, { verb: 'set up', commit: change.commit })
  out.note(`Repository: ${repository}${isConfigurationRuntime ? ', with products and promotions' : ''}`)
  out.note(`Create its application once: windlass gitops config application ${runtime} | kubectl apply -f -`)
  for (const line of await missingCredentials(calls, runtime)) out.note(line)
  return undefined
}

/**
 * Returns what to do about clusters of a runtime that was installed again: credentials are never in the repository. The repository names the clusters, so this is known after
 * the commit only, and a failure here does not undo it.
 */
async function missingCredentials(calls: GitopsRuntimeCalls, runtime: string): Promise<string[]> {
  try {
    const { items } = await calls.clusters()
    return items
      .filter(({ hasCredentials }) => !hasCredentials)
      .map(
        ({ name }) =>
          `Add the credentials of ${name} again: windlass gitops cluster add ${runtime} --name ${name} --context CONTEXT`,
      )
  } catch (error) {
    if (!isFault(error)) throw error
    return [
      `The runtime is set up, but it did not say whether credentials of clusters are missing: ${error.message}`,
      `List the clusters later: windlass gitops cluster list ${runtime}`,
    ]
  }
}

/** Runs `gitops config reset`. */
export async function resetConfig({ out, settings }: Invocation<object>): Promise<void> {
  await openSession(settings).client.gitopsSettings.reset()
  out.line('gitops-settings reset')
}

/** Runs `gitops config remove RUNTIME`. */
export async function removeConfig({
  args,
  options,
  out,
  settings,
}: Invocation<{ yes: boolean; runtimeUrl: string | undefined }>): Promise<void> {
  const [runtime = ''] = args
  const { yes, runtimeUrl: url } = options
  const confirm = deletionConfirmation(yes, out.stderr)
  out.note(`Removed from the shared configuration repository: ${foldersOf(runtime)}`)
  out.note('What the runtime has applied stays in its clusters.')
  await confirm('Remove these folders?', 'remove')
  await removeFiles(settings, { runtime, url, out })
}

/** Runs `gitops config application RUNTIME`. */
export async function printApplication({
  args,
  options,
  out,
  settings,
}: Invocation<{ runtimeUrl: string | undefined }>): Promise<void> {
  const { calls } = await openRuntime(settings, { runtime: args[0] ?? '', url: options.runtimeUrl })
  await printValue(out, (await calls.configuration()).application, 'yaml')
}
