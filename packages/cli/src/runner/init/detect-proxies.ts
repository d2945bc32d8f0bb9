/** Proxies of this machine, which the cluster behind it most often needs too. */
import type { Settings } from '../../config.ts'
import { splitProxies } from '../values/chart-values.ts'
import type { Wishes } from '../values/wishes.ts'
import type { Asker } from './asker.ts'

const VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'] as const

/** The wishes with the proxies of the environment that nobody said anything about; each is confirmed where there is a person. */
export async function detectProxies(wishes: Wishes, asker: Asker, { environment }: Settings): Promise<Wishes> {
  const said = splitProxies({ ...wishes.installer.AdditionalEnvVars, ...wishes.installer.EnvVars }).proxy
  // Whoever names one of them knows what the cluster needs.
  if (Object.keys(said).length > 0) return wishes
  const found: Record<string, string> = {}
  for (const name of VARIABLES) {
    const value = environment[name] ?? environment[name.toLowerCase()]
    if (value === undefined || value === '') continue
    const shown = value.replace(/\/\/[^@/]*@/, '//***@')
    if (await asker.yesNo(`Does the cluster need ${name}=${shown}, as this machine does?`, true)) found[name] = value
  }
  if (Object.keys(found).length === 0) return wishes
  const EnvVars = { ...found, ...wishes.installer.EnvVars }
  return { ...wishes, installer: { ...wishes.installer, EnvVars } }
}
