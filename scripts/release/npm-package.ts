/** The npm package of the command line: one bundled program for Node 20 and later, without dependencies. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describeManual } from '../../packages/cli/src/index.ts'
import { bundleProgram, copyFolders, describePackages, type BundledPackage } from '../bundle.ts'
import { chartEntries, type ChartDigests } from './charts.ts'
import { listFiles } from './files.ts'
import { NODE_20 } from './node-20.ts'
import { fileEntry, type Entry } from './tar.ts'

const root = resolve(import.meta.dirname, '../..')

export interface CliPackage {
  readonly entries: readonly Entry[]
  /** The npm packages in the bundle. */
  readonly bundled: readonly BundledPackage[]
}

/** Bundles the command and returns the files of its package. */
export async function makeNpmPackage(version: string, digests: ChartDigests): Promise<CliPackage> {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-npm-'))
  try {
    const command = await bundleProgram(
      { name: 'windlass', entry: 'scripts/release/node-20/windlass.ts', oldNode: NODE_20 },
      folder,
    )
    // The server of `windlass up` reads documents in a process of its own, and serves the files of `http/public`.
    const worker = 'packages/server/src/documents/document-worker.ts'
    const reader = await bundleProgram({ name: 'document-worker', entry: worker, oldNode: NODE_20 }, folder)
    await bundleProgram({ name: 'compile-cache', entry: 'packages/cli/src/compile-cache.ts', oldNode: NODE_20 }, folder)
    copyFolders(folder)
    const folders = [...new Set([...command, ...reader])]
    const entries = [
      fileEntry('package/package.json', `${JSON.stringify(manifest(version), null, 2)}\n`),
      fileEntry('package/README.md', readFileSync(join(import.meta.dirname, 'npm-readme.md'))),
      fileEntry('package/LICENSE', readFileSync(join(root, 'LICENSE'))),
      fileEntry('package/THIRD-PARTY-LICENSES', thirdPartyLicenses(folders)),
      fileEntry('package/bin/windlass.js', LAUNCHER, 0o755),
      fileEntry('package/man/windlass.1', describeManual()),
      ...listFiles(folder).map((path) => fileEntry(`package/dist/${path}`, readFileSync(join(folder, path)))),
      ...chartEntries('windlass-runtime', digests, 'package/charts/windlass-runtime'),
      ...chartEntries('windlass-gitops-runtime', digests, 'package/charts/windlass-gitops-runtime'),
    ]
    return { entries, bundled: describePackages(folders) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Node keeps the compiled code of files that are loaded after the call. */
const LAUNCHER = `#!/usr/bin/env node
import { keepCompiledCode } from '../dist/compile-cache.js'

keepCompiledCode(process.env)
await import('../dist/windlass.js')
`

function manifest(version: string): Record<string, unknown> {
  const { description, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, string>
  return {
    name: 'windlass',
    version,
    description,
    license,
    type: 'module',
    bin: { windlass: 'bin/windlass.js' },
    // npm links the pages of a list only.
    man: ['man/windlass.1'],
    // `process.getBuiltinModule` exists since 20.16.
    engines: { node: '>=20.16' },
    files: ['bin', 'charts', 'dist', 'man', 'THIRD-PARTY-LICENSES'],
  }
}

/** Returns the license texts of the packages in the bundle, which their licenses require. */
function thirdPartyLicenses(folders: readonly string[]): string {
  const parts = folders.toSorted().map((folder) => {
    const { name, version, license = 'see its text' } = describePackages([folder])[0] ?? { name: folder, version: '' }
    const texts = readdirSync(join(root, folder))
      .filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file))
      .toSorted()
      .map((file) => readFileSync(join(root, folder, file), 'utf8').trim())
    return [`${name} ${version} (${license})`, ...texts].join('\n\n')
  })
  return `${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
