/** The server of the previous version, from the history of the repository, with the npm packages of this one. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from './process.ts'
import { NODE } from './programs.ts'

const root = join(import.meta.dirname, '../..')

/** The first migrations of this version. Commits can be reworded, so no hash is stored. */
const MIGRATIONS = ['02[1-9]', '0[3-9]'].map((names) => `packages/server/src/store/migrations/${names}*`)

export interface PreviousVersion extends AsyncDisposable {
  readonly commit: string
  /** The server of chaos runs, in one file: it starts in a fraction of the processor time of its sources. */
  readonly chaosServer: string
}

/** Runs in the folder of that version, which knows how its programs become bundles. */
const BUNDLE = `
import { bundleProgram, copyFolders } from './scripts/bundle.ts'
const [folder] = process.argv.slice(1)
await bundleProgram({ name: 'chaos-server', entry: 'e2e/chaos/processes/server.ts' }, folder)
await bundleProgram({ name: 'document-worker', entry: 'packages/server/src/documents/document-worker.ts' }, folder)
copyFolders(folder)
`

/** Makes the programs of the last commit without migrations of this version in a folder. Throws without the history of the repository. */
export async function openPreviousVersion(): Promise<PreviousVersion> {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 }).trim()
  const [added = ''] = git('log', '--diff-filter=A', '--reverse', '--format=%H', '--', ...MIGRATIONS).split('\n')
  if (added === '') throw new Error(`the history of the repository has no commit that adds ${MIGRATIONS.join(' or ')}`)
  const commit = git('rev-parse', '--verify', `${added}^`)
  const folder = await mkdtemp(join(tmpdir(), 'windlass-previous-'))
  const archive = execFileSync(
    'git',
    ['archive', '--format=tar', commit, 'package.json', 'packages', 'e2e/chaos/processes', 'scripts'],
    {
      cwd: root,
      maxBuffer: 1 << 28,
    },
  )
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  linkPackages(folder)
  const bundles = join(folder, 'build')
  await runProgram(NODE, ['--input-type=module', '--eval', BUNDLE, bundles], { cwd: folder })
  const close = (): Promise<void> => rm(folder, { recursive: true, force: true })
  return { commit, chaosServer: join(bundles, 'chaos-server.js'), [Symbol.asyncDispose]: close }
}

/** Links the npm packages of this version, and the workspaces of the folder. */
function linkPackages(folder: string): void {
  const [from, to] = [join(root, 'node_modules'), join(folder, 'node_modules')]
  mkdirSync(join(to, '@windlass'), { recursive: true })
  for (const name of readdirSync(from)) if (name !== '@windlass' && name !== '.bin') symlinkSync(join(from, name), join(to, name))
  for (const name of readdirSync(join(folder, 'packages')))
    symlinkSync(join(folder, 'packages', name), join(to, '@windlass', name))
}
