/** Whether `runner init` installs the app-proxy, and at which host. */
import { withCheckedHost, wantsAppProxy } from '../app-proxy/address.ts'
import type { InstallValues } from '../values/install-values.ts'
import type { InitOptions } from './options.ts'
import type { Prompter } from './prompter.ts'

/** Returns the values with the host of the app-proxy, or without an app-proxy. Prompts for a missing host. Throws `usage` without one. */
export async function chooseAppProxy(
  values: InstallValues,
  { appProxy: isAsked }: Pick<InitOptions, 'appProxy'>,
  prompter: Prompter,
): Promise<InstallValues> {
  const { installer, chart } = values
  if (isAsked === false) {
    const { AppProxy: _proxy, ...others } = installer
    const { appProxy: _chart, ...rest } = chart
    return { installer: others, chart: rest }
  }
  if (isAsked !== true && !wantsAppProxy(values)) return values
  const wanted = { chart, installer: { ...installer, AppProxy: { ...installer.AppProxy } } }
  if (!prompter.isInteractive || installer.AppProxy?.Ingress?.Host !== undefined || chart['appProxy'] !== undefined)
    return withCheckedHost(wanted)
  const Host = await prompter.text('Host of the app-proxy, at which the ingress controller terminates TLS', '')
  const Ingress = { ...wanted.installer.AppProxy.Ingress, ...(Host !== '' && { Host }) }
  return withCheckedHost({ chart, installer: { ...installer, AppProxy: { ...installer.AppProxy, Ingress } } })
}
