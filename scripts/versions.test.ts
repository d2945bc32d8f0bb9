import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join, matchesGlob, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { VERSION } from '../packages/plan/src/version.ts'

const root = resolve(import.meta.dirname, '..')

/** Files that repeat the version because their format allows no reference. A release changes them together. */
const REPEATS = [
  'package.json',
  'packages/*/package.json',
  'charts/*/Chart.yaml',
  'images/names.json',
  'images/{buildkit,cosign,deploy,windlass}/Dockerfile',
  'docs/guides/{gitlab-runner,quick-start,typed-steps}.md',
  'docs/runner/install-helm.md',
  'docs/reference/{configuration.md,openapi.json}',
  'e2e/runner/helm/cf-runtime/{agentless,first-steps,production}.golden',
  'packages/manifests/src/golden/first-attempt.golden',
]
/** The lock files of npm and Go contain versions of other projects. */
const FOREIGN = ['**/package-lock.json', '**/go.{mod,sum}']

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const version = new RegExp(`(?<![\\w.])v?${VERSION.replaceAll('.', '\\.')}(?![\\w.]*\\d)`)

test('the version is written only in files that cannot read it', () => {
  const tracked = execFileSync('git', ['grep', '-lIF', VERSION], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  const files = tracked.filter((path) => ![...REPEATS, ...FOREIGN].some((pattern) => matchesGlob(path, pattern)))
  expect(files.filter((path) => version.test(read(path)))).toEqual([])
})

test('files that repeat the version agree', () => {
  const files = globSync(REPEATS, { cwd: root })
  expect(files.filter((path) => !version.test(read(path)))).toEqual([])
})

test('each package and each chart has the version of the release', () => {
  const packages = globSync(['package.json', 'packages/*/package.json'], { cwd: root })
  for (const path of packages) {
    const { version: own, dependencies = {} } = JSON.parse(read(path)) as {
      version: string
      dependencies?: Record<string, string>
    }
    const ours = Object.entries(dependencies).filter(([name]) => name.startsWith('@windlass/'))
    expect([path, own, ...ours.map(([, wanted]) => wanted)]).toEqual([path, VERSION, ...ours.map(() => VERSION)])
  }
  for (const path of globSync('charts/*/Chart.yaml', { cwd: root }))
    expect(read(path)).toMatch(new RegExp(`\nversion: ${VERSION}\nappVersion: ${VERSION}\n`))
})
