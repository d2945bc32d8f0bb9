import { mkdirSync, mkdtempDisposableSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writePrivateFile } from './private-file.ts'

test('only the owner can read the file, and no draft remains', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'private-file-'))
  const file = join(folder.path, 'key')
  writePrivateFile(file, 'one\n')
  expect(readFileSync(file, 'utf8')).toBe('one\n')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder.path)).toEqual(['key'])
})

test('an existing file is kept unless it may be replaced', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'private-file-'))
  const file = join(folder.path, 'key')
  writePrivateFile(file, 'one\n')
  writePrivateFile(file, 'two\n')
  expect(readFileSync(file, 'utf8')).toBe('one\n')
  writePrivateFile(file, 'three\n', { replace: true })
  expect(readFileSync(file, 'utf8')).toBe('three\n')
  expect(readdirSync(folder.path)).toEqual(['key'])
})

test('a file that cannot be replaced leaves no draft', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'private-file-'))
  mkdirSync(join(folder.path, 'key'))
  expect(() => writePrivateFile(join(folder.path, 'key'), '', { replace: true })).toThrow()
  expect(() => writePrivateFile(join(folder.path, 'missing', 'key'), '')).toThrow('ENOENT')
  expect(readdirSync(folder.path)).toEqual(['key'])
})
