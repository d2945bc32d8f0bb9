/**
 * `node scripts/testing/programs.ts FOLDER`: bundles the programs that tests start (ADR 0075). Prints the folder for the environment of the tests.
 * `windlass` in it is the command.
 */
import { chmodSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { TEST_PROGRAMS } from '../../e2e/support/programs.ts'
import { buildPage } from '../build-page.ts'
import { bundle, bundleProgram } from '../bundle.ts'
import { digestSources, keep, take } from '../kept.ts'

/** What the programs are built from. */
const SOURCES = [
  'package-lock.json',
  'packages/*/package.json',
  'packages/*/{dist,src}/**/*',
  'scripts/*.ts',
  'scripts/testing/programs.ts',
  'e2e/{chaos,support}/**/*.ts',
]

const [folder = ''] = process.argv.slice(2).map((path) => resolve(path))
if (folder === '') throw new Error('usage: node scripts/testing/programs.ts FOLDER')
// The page is among the sources: it is copied into the bundle of the server.
buildPage()
const kept = { name: 'programs', key: digestSources(SOURCES) }
if (!take(kept, folder)) {
  await bundle(folder)
  for (const [name, entry] of Object.entries(TEST_PROGRAMS)) await bundleProgram({ name, entry }, folder)
  keep(kept, folder)
}
const node = resolve(import.meta.dirname, '../../node_modules/node/bin/node')
writeFileSync(join(folder, 'windlass'), `#!/bin/sh\nexec '${node}' "$(dirname "$(readlink -f "$0")")/windlass.js" "$@"\n`)
chmodSync(join(folder, 'windlass'), 0o755)
console.log(`WINDLASS_PROGRAMS=${folder}`)
