import type { Migration } from 'kysely/migration'
import { initial } from './001-initial.ts'
import { language } from './002-language.ts'
import { runtimes } from './004-runtimes.ts'
import { edge } from './003-edge.ts'
import { monitor } from './005-monitor.ts'
import { warm } from './006-warm.ts'

/** Applied in the order of their names, once each, and never edited after a release. */
export const migrations: Record<string, Migration> = {
  '001-initial': initial,
  '002-language': language,
  '004-runtimes': runtimes,
  '003-edge': edge,
  '005-monitor': monitor,
  '006-warm': warm,
}
