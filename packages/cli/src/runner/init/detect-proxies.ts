/** Detects the proxies of this machine, which the cluster usually needs too. */
import { hideProxyLogin } from '@windlass/kit'
import type { Settings } from '../../config.ts'
import { splitProxies } from '../values/chart-values.ts'
import type { InstallValues } from '../values/install-values.ts'
import type { Prompter } from './prompter.ts'

const VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'] as const

/** Adds the proxies of the environment, each confirmed by the user, unless the values set a proxy. */
export async function detectProxies(
  installValues: InstallValues,
  prompter: Prompter,
  { environment }: Settings,
): Promise<InstallValues> {
  const given = splitProxies({ ...installValues.installer.AdditionalEnvVars, ...installValues.installer.EnvVars }).proxy
  // A user who sets one proxy is expected to set all that the cluster needs.
  if (Object.keys(given).length > 0) return installValues
  const found: Record<string, string> = {}
  for (const name of VARIABLES) {
    const value = environment[name] ?? environment[name.toLowerCase()]
    if (value === undefined || value === '') continue
    if (await prompter.confirm(`Use ${name}=${hideProxyLogin(value)} of this machine in the cluster?`, true)) found[name] = value
  }
  if (Object.keys(found).length === 0) return installValues
  const EnvVars = { ...found, ...installValues.installer.EnvVars }
  return { ...installValues, installer: { ...installValues.installer, EnvVars } }
}
