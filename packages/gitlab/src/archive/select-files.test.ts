import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { gzipStream } from './gzip.ts'
import { selectFiles, type Selected, type Wanted } from './select-files.ts'

/** Returns a folder with these files. */
function project(...files: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'windlass-files-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), file)
  }
  return root
}

const select = (root: string, wanted: Partial<Wanted>): Promise<Selected> =>
  selectFiles(root, { paths: [], exclude: [], untracked: false, ...wanted })

test('paths are files, folders with all in them, and patterns', async () => {
  const root = project('dist/a.js', 'dist/deep/b.js', 'dist/.hidden', 'src/c.ts', 'src/d.o')
  const { paths, notes } = await select(root, { paths: ['dist/', './src/*.ts', 'dist/a.js'] })
  expect(paths).toEqual(['dist', 'dist/.hidden', 'dist/a.js', 'dist/deep', 'dist/deep/b.js', 'src/c.ts'])
  expect(notes[0]).toBe('dist/: found 5 matching artifact files and directories')
  expect((await select(root, { paths: ['**/*.js'] })).paths).toEqual(['dist/a.js', 'dist/deep/b.js'])
  expect((await select(root, { paths: [join(root, 'src')], exclude: ['**/*.o'] })).paths).toEqual(['src', 'src/c.ts'])
})

test.each(['../outside', '/etc/passwd', 'dist/../../outside', '..'])(
  'the path %s outside of the project is left out',
  async (path) => {
    const { paths, notes } = await select(project('dist/a'), { paths: [path] })
    expect(paths).toEqual([])
    expect(notes).toEqual([`WARNING: ${path}: the path lies outside of the project and is left out`])
  },
)

test('a name with the characters of a pattern is the file of this name', async () => {
  const root = project('[a].txt', 'a.txt', '..x')
  expect((await select(root, { paths: ['[a].txt', '..x'] })).paths).toEqual(['..x', '[a].txt'])
})

test('links are taken and not followed', async () => {
  const root = project('dist/a')
  symlinkSync('/etc', join(root, 'dist/link'))
  expect((await select(root, { paths: ['dist'] })).paths).toEqual(['dist', 'dist/a', 'dist/link'])
  expect((await select(root, { paths: ['dist/link/*', 'dist/link/hostname', '**/hostname'] })).paths).toEqual([])
  symlinkSync('a', join(root, 'dist/inside'))
  symlinkSync('dist', join(root, 'other'))
  expect((await select(root, { paths: ['other/*'] })).paths).toEqual(['other/a', 'other/inside', 'other/link'])
})

test('a path without a match has a warning with the folder', async () => {
  const root = project()
  expect((await select(root, { paths: ['none'] })).notes).toEqual([
    `WARNING: none: no matching files. Ensure that the artifact path is relative to the working directory (${root})`,
  ])
})

test('untracked files are those that git does not know, whatever their names', async () => {
  const root = project('known', 'new file', 'line\nbreak')
  const git = (...words: readonly string[]): unknown => execFileSync('git', words, { cwd: root, stdio: 'ignore' })
  git('init')
  git('add', 'known')
  const { paths, notes } = await select(root, { untracked: true })
  expect(paths).toEqual(['line\nbreak', 'new file'])
  expect(notes).toEqual(['untracked: found 2 files'])
})

test('a gzip stream has the content of all files in their order', async () => {
  const root = project('a.xml', 'b.xml')
  expect(gunzipSync(await buffer(gzipStream(root, ['a.xml', 'b.xml'], 6))).toString()).toBe('a.xmlb.xml')
})
