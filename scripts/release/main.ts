/**
 * `node scripts/release/main.ts [--key FILE] [--out FOLDER] [--level N] [--allow-dirty] [IMAGE...]`: builds the files of a release (docs/operate/releases.md).
 * Two runs for the same commit write the same bytes. Files that are not committed are signed only with `--allow-dirty`. `--level` is the level of gzip for the layers of images: 1 is fast.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { completionScript, describeManual } from '../../packages/cli/src/index.ts'
import { defined } from '../../packages/kit/src/defined.ts'
import { VERSION } from '../../packages/plan/src/version.ts'
import { CHARTS, chartEntries } from './charts.ts'
import { IMAGES, releaseImages, type Facts, type ReleasedImage } from './images.ts'
import { makeNpmPackage } from './npm-package.ts'
import { npmPackage } from './sbom/components.ts'
import { toCycloneDx } from './sbom/cyclonedx.ts'
import { readRevision, requireSignable } from './revision.ts'
import { readSigningKey, writeChecksums } from './signature.ts'
import { writeArchive } from './tar.ts'

const root = resolve(import.meta.dirname, '../..')

/** Returns the version, and the commit with its time. `SOURCE_DATE_EPOCH` names another time. */
function readFacts(level: number): Facts {
  const seconds =
    process.env['SOURCE_DATE_EPOCH'] ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim()
  return {
    version: VERSION,
    revision: readRevision(root),
    createdAt: new Date(1000 * Number(seconds)),
    level,
  }
}

function writeText(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** Returns the digest of an image. Throws if the release does not have it. */
function digestOf(name: string, images: readonly ReleasedImage[]): string {
  const found = images.find((image) => image.name === name)
  if (found === undefined) throw new Error(`the charts need the image ${name}: add it to the arguments`)
  return found.digest
}

async function release(folder: string, names: readonly string[], facts: Facts): Promise<void> {
  const { version, revision, createdAt } = facts
  const images = await releaseImages(names, folder, facts)
  writeText(join(folder, 'images.json'), `${JSON.stringify({ version, revision, createdAt, images }, null, 2)}\n`)
  const found = (wanted: string): string | undefined => images.find(({ name }) => name === wanted)?.digest
  const digests = {
    windlass: digestOf('windlass', images),
    dind: digestOf('dind', images),
    ...defined({ 'dind-rootless': found('dind-rootless'), 'gitlab-helper': found('gitlab-helper') }),
  }
  for (const chart of CHARTS) await writeArchive(join(folder, `charts/${chart}-${version}.tgz`), chartEntries(chart, digests))
  const { entries, bundled } = await makeNpmPackage(version, digests)
  await writeArchive(join(folder, `windlass-cli-${version}.tgz`), entries)
  const subject = { type: 'application', name: 'windlass', version, purl: `pkg:npm/windlass@${version}`, createdAt } as const
  writeText(join(folder, `sbom/windlass-cli-${version}.cdx.json`), toCycloneDx(subject, bundled.map(npmPackage)))
  for (const shell of ['bash', 'zsh', 'fish']) writeText(join(folder, `completions/windlass.${shell}`), completionScript(shell))
  writeText(join(folder, 'man/windlass.1'), describeManual())
}

const { values, positionals } = parseArgs({
  options: {
    key: { type: 'string' },
    out: { type: 'string' },
    level: { type: 'string', default: '6' },
    'allow-dirty': { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const names = positionals.length === 0 ? [...IMAGES] : positionals
const key = values.key === undefined ? undefined : readSigningKey(values.key)
const facts = readFacts(Number(values.level))
if (key !== undefined && !values['allow-dirty']) requireSignable(facts.revision)
const out = resolve(values.out ?? join(root, 'dist/release'))
const part = `${out}.part`
rmSync(part, { recursive: true, force: true })
mkdirSync(part, { recursive: true })
execFileSync(join(root, 'scripts/images'), names, { stdio: ['ignore', 'ignore', 'inherit'] })
await release(part, names, facts)
const { revision } = readFacts(facts.level)
if (revision !== facts.revision) throw new Error(`the sources changed from ${facts.revision} to ${revision}: run it again`)
await writeChecksums(part, key)
rmSync(out, { recursive: true, force: true })
renameSync(part, out)
console.log(`${out}: version ${VERSION}${key === undefined ? ', not signed (make release KEY=FILE)' : ''}`)
