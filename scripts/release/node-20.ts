/** What Node 20 lacks, for the bundle of the npm package. `core-js` has the functions, `sqlite.ts` the module. */
import { resolve } from 'node:path'
import type { Plugin } from 'rolldown'

const sqlite = resolve(import.meta.dirname, 'node-20/sqlite.ts')

/** Node 20 refuses to load a file that imports `node:sqlite`, which only `windlass up` uses. */
const plugin: Plugin = {
  name: 'node-20',
  resolveId: (id, importer) => (id === 'node:sqlite' && importer !== sqlite ? sqlite : null),
}

export const NODE_20 = { target: 'node20', plugin } as const
