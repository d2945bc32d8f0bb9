/** Operations on applications: sync, rollback, refresh, termination, deletion. */
import type { GitopsRuntimeCalls } from '@windlass/client/gitops-runtime'
import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { CASCADES, ResourceKey, RuntimeApplicationDetails } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import type { Printer } from '../../printer.ts'
import { openRuntime } from '../gitops-repository/runtime-session.ts'
import { nameOf, select } from './resource-names.ts'
import { operationOf, type Shown } from './show.ts'

const DEFAULT_WAIT_SECONDS = 600
const POLL_MS = 1_000
/** The app-proxy waits a minute. */
const REFRESH_TIMEOUT_MS = 90_000

interface Waiting extends Shown {
  readonly wait: boolean
  readonly timeout: number | undefined
}
interface SyncOptions extends Waiting {
  readonly revision: string | undefined
  readonly prune: boolean
  readonly dryRun: boolean
  readonly force: boolean
  readonly applyOnly: boolean
  readonly option: readonly string[]
  readonly resource: readonly string[]
  readonly outOfSync: boolean
  readonly retryLimit: number | undefined
}

/** Runs `gitops app sync RUNTIME NAME`. */
export async function syncApplication({ args, options, out, settings }: Invocation<SyncOptions>): Promise<number | void> {
  const [runtime = '', name = ''] = args
  const { revision, prune, dryRun, force, applyOnly, retryLimit } = options
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const resources = await chooseResources(calls, name, options)
  if (resources?.length === 0) return out.note('No object differs from the source.')
  const app = await calls.syncApplication(name, {
    prune,
    dryRun,
    force,
    applyOnly,
    options: [...options.option],
    ...(revision !== undefined && { revision }),
    ...(resources !== undefined && { resources }),
    ...(retryLimit !== undefined && { retry: { limit: retryLimit } }),
  })
  return finish({ calls, out, name, verb: dryRun ? 'sync checked' : 'sync started' }, app, options)
}

/** Returns the objects to sync; undefined for all. */
async function chooseResources(
  calls: GitopsRuntimeCalls,
  name: string,
  { resource, outOfSync }: SyncOptions,
): Promise<ResourceKey[] | undefined> {
  if (resource.length === 0 && !outOfSync) return undefined
  const { resources } = await calls.application(name)
  const chosen = resource.length === 0 ? resources : select(resources, resource)
  return chosen
    .filter(({ sync }) => !outOfSync || sync === 'out-of-sync')
    .map(({ group = '', kind, namespace = '', name: own }) => ({ group, kind, namespace, name: own }))
}

/** Runs `gitops app rollback RUNTIME NAME`. */
export async function rollBack({
  args,
  options,
  out,
  settings,
}: Invocation<Waiting & { readonly id: number | undefined; readonly prune: boolean; readonly dryRun: boolean }>): Promise<
  number | void
> {
  const [runtime = '', name = ''] = args
  const { id, prune, dryRun } = options
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const app = await calls.rollBackApplication(name, { prune, dryRun, ...(id !== undefined && { id }) })
  return finish({ calls, out, name, verb: dryRun ? 'rollback checked' : 'rollback started' }, app, options)
}

/** Runs `gitops app terminate RUNTIME NAME`. */
export async function terminateSync({ args, options, out, settings }: Invocation<Waiting>): Promise<number | void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const app = await calls.terminateApplication(name)
  await finish({ calls, out, name, verb: 'termination started' }, app, options)
}

/** Runs `gitops app refresh RUNTIME NAME`. */
export async function refreshApplication({
  args,
  options,
  out,
  settings,
}: Invocation<Shown & { readonly hard: boolean }>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const app = await calls.refreshApplication(name, { hard: options.hard }, { timeoutMs: REFRESH_TIMEOUT_MS })
  if (options.output !== undefined) return printValue(out, app, options.output)
  return out.line(`application/${name} refreshed: ${app.health}, ${app.sync}`)
}

/** Runs `gitops app delete RUNTIME NAME`. */
export async function deleteApplication({
  args,
  options,
  out,
  settings,
}: Invocation<{
  readonly runtimeUrl: string | undefined
  readonly cascade: (typeof CASCADES)[number] | undefined
  readonly yes: boolean
}>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { cascade = 'foreground' } = options
  if (!options.yes)
    throw fault('usage', {
      message:
        cascade === 'none'
          ? `The application "${name}" would be deleted; its objects would stay.`
          : `The application "${name}" would be deleted with all its objects.`,
      hint: 'Add --yes to delete it.',
    })
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const { parent } = await calls.deleteApplication(name, { query: { cascade } })
  out.line(`application/${name} deleted`)
  if (parent !== undefined)
    out.note(`The application "${parent}" has its manifest. Delete the file in Git too, or Argo CD creates it again.`)
}

/** Runs `gitops app delete-resource RUNTIME NAME OBJECT`. */
export async function deleteResource({
  args,
  options,
  out,
  settings,
}: Invocation<{ readonly runtimeUrl: string | undefined }>): Promise<void> {
  const [runtime = '', name = '', object = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const chosen = select((await calls.applicationTree(name)).items, [object])
  const [node] = chosen
  if (node === undefined || chosen.length > 1)
    throw fault('usage', {
      message: `"${object}" names ${chosen.length} objects.`,
      hint: 'Name one, with its group: Deployment.apps/shop/api.',
    })
  const { group = '', kind, namespace = '', name: own } = node
  await calls.deleteResource(name, { group, kind, namespace, name: own })
  out.line(`${nameOf(node)} deleted`)
}

interface Finishing {
  readonly calls: GitopsRuntimeCalls
  readonly out: Printer
  readonly name: string
  /** What has happened. */
  readonly verb: string
}

/** Prints what an operation did. With `--wait`, waits for its end, and resolves to 1 if it failed. */
async function finish(
  { calls, out, name, verb }: Finishing,
  begun: RuntimeApplicationDetails,
  { wait, timeout = DEFAULT_WAIT_SECONDS, output }: Waiting,
): Promise<number | void> {
  const app = wait ? await compared({ calls, out }, await untilDone(calls, begun, timeout)) : begun
  const isFailed = wait && app.operation?.phase !== 'succeeded'
  if (output !== undefined) await printValue(out, app, output)
  else if (!wait || app.operation === undefined) out.line(`application/${name} ${verb}`)
  else {
    out.line(`application/${name} ${operationOf(app.operation)}`)
    for (const { result, message, hook, ...object } of app.results)
      out.line(
        `  ${nameOf(object)} ${hook === undefined ? result : `${hook} ${result}`}${message === undefined ? '' : `: ${message}`}`,
      )
  }
  return isFailed ? 1 : undefined
}

/** Lets Argo CD compare what an operation has changed, so that the next command sees it. The operation has ended, so nothing fails here. */
async function compared(
  { calls, out }: Pick<Finishing, 'calls' | 'out'>,
  app: RuntimeApplicationDetails,
): Promise<RuntimeApplicationDetails> {
  try {
    return await calls.refreshApplication(app.name, { hard: false }, { timeoutMs: REFRESH_TIMEOUT_MS })
  } catch (error) {
    if (!isFault(error)) throw error
    out.note(`Argo CD has not compared the application with its source since: ${error.message}`)
    return app
  }
}

/** Waits until no operation is in progress. Throws `unavailable`. */
async function untilDone(
  calls: GitopsRuntimeCalls,
  begun: RuntimeApplicationDetails,
  seconds: number,
): Promise<RuntimeApplicationDetails> {
  const end = systemClock.monotonic() + seconds * 1_000
  let app = begun
  while (app.isBusy) {
    if (systemClock.monotonic() > end)
      throw fault('unavailable', {
        message: `The operation of the application "${app.name}" has not ended within ${seconds} s.`,
        hint: 'It goes on. See `windlass gitops app get`.',
      })
    await systemClock.sleep(POLL_MS)
    app = await calls.application(app.name)
  }
  return app
}
