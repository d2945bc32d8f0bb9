import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openCompileCache } from './compile-cache.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'windlass-cache-')))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const open = (folder = base): string | undefined => openCompileCache({ XDG_CACHE_HOME: folder })

test('creates a folder that only the user can read and write', () => {
  const folder = open(join(base, 'cache'))
  expect(folder).toBe(join(base, 'cache', 'windlass', 'compiled'))
  expect(statSync(folder ?? '').mode & 0o777).toBe(0o700)
  expect(open(join(base, 'cache'))).toBe(folder)
})

test('uses no folder that another user can write, or that is below such a folder', () => {
  mkdirSync(join(base, 'windlass', 'compiled'), { recursive: true })
  chmodSync(join(base, 'windlass', 'compiled'), 0o777)
  expect(open()).toBeUndefined()
  chmodSync(join(base, 'windlass', 'compiled'), 0o700)
  expect(open()).toBeDefined()
  chmodSync(join(base, 'windlass'), 0o775)
  expect(open()).toBeUndefined()
})

test('uses no folder directly in a shared one, and none behind a link to an open folder', () => {
  chmodSync(base, 0o1777)
  expect(open()).toBeUndefined()
  mkdirSync(join(base, 'open'))
  chmodSync(join(base, 'open'), 0o777)
  mkdirSync(join(base, 'mine'))
  symlinkSync(join(base, 'open'), join(base, 'mine', 'windlass'))
  expect(open(join(base, 'mine'))).toBeUndefined()
})
