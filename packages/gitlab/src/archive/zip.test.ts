/** Archives of artifacts and caches: what goes in comes out, and nothing comes out beside the folder. */
import {
  chmodSync,
  createWriteStream,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, onTestFinished, test } from 'vitest'
import { ZipFile } from 'yazl'
import { selectFiles } from './select-files.ts'
import { compressionLevel, extractZip, zipStream } from './zip.ts'

/** Returns an empty folder. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'windlass-zip-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function archiveOf(source: string, paths: readonly string[]): Promise<string> {
  const file = join(folder(), 'archive.zip')
  await pipeline(zipStream(source, paths, 1), createWriteStream(file))
  return file
}

const write = (root: string, path: string, content: string | Buffer): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

test.each([0, 1, 65_535, 65_536, 3_000_000])('a file of %i bytes has the same content afterwards', async (size) => {
  const [source, target] = [folder(), folder()]
  const content = Buffer.alloc(size, 'windlass ')
  write(source, 'a.bin', content)
  await extractZip(await archiveOf(source, ['a.bin']), target)
  expect(readFileSync(join(target, 'a.bin')).equals(content)).toBe(true)
})

test('names of files keep all their characters', async () => {
  const [source, target] = [folder(), folder()]
  const names = [
    '-rf',
    'two words',
    "it's",
    '"quoted"',
    '$HOME',
    '*',
    'line\nbreak',
    'äöü-日本',
    '..hidden',
    'deep/er/..x',
    '.dot/.file',
  ]
  for (const name of names) write(source, name, name)
  await extractZip(await archiveOf(source, names), target)
  for (const name of names) expect(readFileSync(join(target, name), 'utf8')).toBe(name)
})

test('modes, links and empty folders are kept, and a folder without the right to write', async () => {
  const [source, target] = [folder(), folder()]
  write(source, 'bin/run', '#!/bin/sh\n')
  chmodSync(join(source, 'bin/run'), 0o750)
  symlinkSync('run', join(source, 'bin/link'))
  symlinkSync('/does/not/exist', join(source, 'dangling'))
  mkdirSync(join(source, 'empty'))
  write(source, 'locked/file', 'x')
  chmodSync(join(source, 'locked'), 0o555)
  const { paths } = await selectFiles(source, { paths: ['.'], exclude: [], untracked: false })
  await extractZip(await archiveOf(source, paths), target)
  chmodSync(join(source, 'locked'), 0o755)
  expect(lstatSync(join(target, 'bin/run')).mode & 0o777).toBe(0o750)
  expect(readlinkSync(join(target, 'bin/link'))).toBe('run')
  expect(readlinkSync(join(target, 'dangling'))).toBe('/does/not/exist')
  expect(lstatSync(join(target, 'empty')).isDirectory()).toBe(true)
  expect(lstatSync(join(target, 'locked')).mode & 0o777).toBe(0o555)
  chmodSync(join(target, 'locked'), 0o755)
})

test('an archive replaces files, links and folders that are in its place', async () => {
  const [source, target, outside] = [folder(), folder(), folder()]
  write(source, 'a', 'new')
  write(source, 'b', 'new')
  write(outside, 'kept', 'old')
  symlinkSync(join(outside, 'kept'), join(target, 'a'))
  write(target, 'b/file', 'old')
  await extractZip(await archiveOf(source, ['a', 'b']), target)
  expect(readFileSync(join(target, 'a'), 'utf8')).toBe('new')
  expect(readFileSync(join(target, 'b'), 'utf8')).toBe('new')
  expect(readFileSync(join(outside, 'kept'), 'utf8')).toBe('old')
})

/** Returns an archive in which a name is replaced by another one of the same length. */
async function renamed(from: string, to: string): Promise<string> {
  expect(to).toHaveLength(from.length)
  const source = folder()
  write(source, from, 'evil')
  const file = await archiveOf(source, [from])
  const bytes = readFileSync(file)
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) bytes.write(to, at)
  writeFileSync(file, bytes)
  return file
}

test.each([
  ['above the folder', 'xx/evil', '../evil'],
  ['above the folder behind another one', 'a/xx/xx/evil', 'a/../../evil'],
  ['at the root', 'xtmp/windlass-evil', '/tmp/windlass-evil'],
  ['with backslashes', 'xx-evil', String.raw`..\evil`],
])('an entry %s is refused, and nothing is written', async (_, from, to) => {
  const target = join(folder(), 'inside')
  mkdirSync(target)
  await expect(extractZip(await renamed(from, to), target)).rejects.toThrow()
  expect(existsSync(join(dirname(target), 'evil'))).toBe(false)
  expect(existsSync('/tmp/windlass-evil')).toBe(false)
})

test('an entry behind a link that leads out of the folder is refused', async () => {
  const [source, target, outside] = [folder(), folder(), folder()]
  write(source, 'link/file', 'evil')
  symlinkSync(outside, join(target, 'link'))
  await expect(extractZip(await archiveOf(source, ['link/file']), target)).rejects.toThrow('behind a link')
  await expect(extractZip(await archiveOf(source, ['link']), target)).rejects.toThrow('behind a link')
  expect(existsSync(join(outside, 'file'))).toBe(false)
})

/** Returns an archive with these entries, in this order: names of folders end with a slash, and links have the place that they lead to. */
async function archiveWith(entries: readonly (readonly [name: string, link?: string])[]): Promise<string> {
  const zip = new ZipFile()
  for (const [name, link] of entries)
    if (link !== undefined) zip.addBuffer(Buffer.from(link), name, { mode: 0o120_777 })
    else if (name.endsWith('/')) zip.addEmptyDirectory(name, { mode: 0o040_777 })
    else zip.addBuffer(Buffer.from('evil'), name, { mode: 0o100_644 })
  zip.end()
  const file = join(folder(), 'archive.zip')
  // The types of the package name an older interface of Node.
  await pipeline(zip.outputStream as Readable, createWriteStream(file))
  return file
}

test('no folder is made or changed behind a link that the archive makes', async () => {
  const [target, outside] = [folder(), folder()]
  mkdirSync(join(outside, 'private'), { mode: 0o700 })
  await expect(extractZip(await archiveWith([['a', outside], ['a/new/file']]), target)).rejects.toThrow('behind a link')
  expect(existsSync(join(outside, 'new'))).toBe(false)
  await extractZip(await archiveWith([['d/private/'], ['d', outside]]), target)
  expect(lstatSync(join(outside, 'private')).mode & 0o777).toBe(0o700)
})

test('an archive with a refused name, or with too many bytes, is not extracted', async () => {
  const target = folder()
  const file = await archiveWith([['a'], ['b/.git/config']])
  await expect(extractZip(file, target, { isRefused: (name) => name.includes('.git') })).rejects.toThrow('b/.git/config')
  await expect(extractZip(file, target, { maxBytes: 7 })).rejects.toThrow('more than 7 bytes')
})

test('an entry with more bytes than it names, and a file that is no archive, are refused', async () => {
  const [source, target] = [folder(), folder()]
  write(source, 'bomb', Buffer.alloc(100_000))
  const file = await archiveOf(source, ['bomb'])
  const bytes = readFileSync(file)
  // The size in the directory of the archive.
  bytes.writeUInt32LE(10, bytes.indexOf(Buffer.from([0x50, 0x4b, 1, 2])) + 24)
  writeFileSync(file, bytes)
  await expect(extractZip(file, target)).rejects.toThrow(/too many bytes/)
  writeFileSync(file, 'no archive')
  await expect(extractZip(file, target)).rejects.toThrow()
})

test('words for the compression are those of the original', () => {
  expect(['fastest', 'fast', 'default', 'slow', 'slowest', 'other', undefined].map(compressionLevel)).toEqual([
    1, 3, 6, 8, 9, 6, 6,
  ])
})
