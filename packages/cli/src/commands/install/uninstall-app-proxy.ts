/** The command `uninstall app-proxy` for the app-proxy of a Runner, which lists what it removes and asks first. */
import type { Invocation } from '../../command.ts'
import { appProxyNameOf, APP_PROXY_SECRET } from '../../runner/app-proxy/address.ts'
import { removeAppProxyState } from '../../runner/app-proxy/remove.ts'
import { setProxyAddress } from '../../runner/app-proxy/runtime-address.ts'
import { deletionConfirmation } from '../../runner/init/prompter.ts'
import { removeParts } from '../../runner/install/release.ts'
import { openInstallTarget, targetOf, type HelmFlags } from '../../runner/install/target.ts'
import { readInstallValues, type ValueFlags } from '../../runner/values/install-values.ts'
import { valueAt } from '../../runner/values/read-values.ts'
import { openSession } from '../../session/session.ts'

export interface UninstallAppProxyOptions extends ValueFlags, HelmFlags {
  readonly runtimeEnvironment?: string | undefined
  readonly yes: boolean
  readonly force: boolean
}

/** Removes the address from the runtime environment first, so that nobody calls an app-proxy that is gone. Can be repeated. */
export async function uninstallAppProxy({ options, out, settings }: Invocation<UninstallAppProxyOptions>): Promise<void> {
  const confirm = deletionConfirmation(options.yes || options.force, out.stderr)
  const { installer } = readInstallValues(options)
  const { client } = openSession(settings)
  await using target = await openInstallTarget(targetOf(installer), options, settings)
  const { cluster, namespace, release } = target
  const values = await target.helm().values(release)
  const installed = valueAt(values, ['global', 'runtimeName'])
  const runtime = options.runtimeEnvironment ?? (typeof installed === 'string' ? installed : undefined)
  const own = valueAt(values, ['appProxy', 'tokenSecret'])
  const secret = typeof own === 'string' && own !== '' ? own : APP_PROXY_SECRET
  out.note('The following is deleted:')
  out.note(`  the app-proxy of the release ${release.name} in ${namespace} of ${cluster.context}`)
  if (runtime !== undefined) out.note(`  its address in the runtime environment ${runtime}`)
  out.note('  its token, its Git integrations, and the Git tokens of users')
  await confirm('Delete all of this?')
  if (runtime !== undefined) await setProxyAddress(client, runtime, undefined)
  const isRemoved = await removeParts(target, ['appProxy'])
  const name = runtime === undefined ? undefined : appProxyNameOf(runtime)
  await removeAppProxyState({ client, kube: cluster.kube, namespace, secret, name })
  out.line(isRemoved ? `The app-proxy in ${namespace} was removed` : `No app-proxy is installed in ${namespace}`)
}
