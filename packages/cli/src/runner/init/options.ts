/** Options of `runner init`. */
import type { LoginFlags } from '../log-in.ts'
import type { ValueFlags } from '../values/install-values.ts'
import type { InitFlags } from './prepare.ts'

export interface InitOptions extends ValueFlags, LoginFlags, InitFlags {
  readonly yes: boolean
  readonly startOver: boolean
  readonly helm?: string | undefined
  readonly chart?: string | undefined
  readonly demoImage?: string | undefined
  readonly appProxy?: boolean | undefined
}
