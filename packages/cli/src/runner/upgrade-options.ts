/** Options of `runner upgrade`. */
import type { HelmFlags } from './install/target.ts'
import type { ValueFlags } from './values/install-values.ts'

export interface UpgradeOptions extends ValueFlags, HelmFlags {
  readonly agentName?: string | undefined
  readonly yes: boolean
}
