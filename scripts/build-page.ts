/** `node scripts/build-page.ts`: builds the page (`packages/web/dist`) if what it is built from has changed, unless another clone has. Under a second
 * if it has not. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { digestSources, keep, take } from './kept.ts'

const root = resolve(import.meta.dirname, '..')
const FOLDER = 'packages/web'
/** Has the digest of the sources. Hidden files are not served. */
const MARK = join(root, FOLDER, 'dist/.sources')
/** What a page is built from: its own files, and the packages that it may import. */
const SOURCES = [
  'package-lock.json',
  'packages/*/package.json',
  'packages/{ansi,client,kit,pipeline,plan,protocol}/src/**/*.ts',
  `${FOLDER}/{index,terminal}.html`,
  `${FOLDER}/*.ts`,
  `${FOLDER}/{public,scripts,src}/**/*`,
]

function builtFrom(): string | undefined {
  return existsSync(MARK) ? readFileSync(MARK, 'utf8') : undefined
}

/** Builds the page unless it is up to date. Throws with the output of the build if it fails. */
export function buildPage(): void {
  if (!existsSync(join(root, FOLDER, 'package.json'))) return
  const sources = digestSources(SOURCES)
  const [folder, kept] = [dirname(MARK), { name: 'page', key: sources }]
  if (builtFrom() === sources || (take(kept, folder) && builtFrom() === sources)) return
  // Tests set NODE_ENV to `test`, for which Vite would bundle the development build of React.
  const env = { ...process.env, NODE_ENV: 'production' }
  const built = spawnSync('npm', ['run', '--silent', 'build', '--workspace', FOLDER], { cwd: root, encoding: 'utf8', env })
  if (built.error !== undefined) throw built.error
  if (built.status !== 0) throw new Error(`the page cannot be built:\n${built.stdout}${built.stderr}`.trim())
  writeFileSync(MARK, sources)
  keep(kept, folder)
}

if (import.meta.main) buildPage()
