import { mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { currentContext, readConfigFile, saveContext } from './config-file.ts'

const fresh = (): string => join(mkdtempSync(join(tmpdir(), 'windlass-config-')), 'deep', 'config.yaml')

test('the file of contexts can be read by its owner alone', () => {
  const path = fresh()
  saveContext(path, { name: 'a', url: 'http://localhost:1', apiKey: 'k' }, { use: true })
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('the first context is used, later ones only when asked', () => {
  const path = fresh()
  saveContext(path, { name: 'a', url: 'http://localhost:1' }, { use: false })
  saveContext(path, { name: 'b', url: 'http://localhost:2' }, { use: false })
  expect(currentContext(readConfigFile(path))?.name).toBe('a')
  saveContext(path, { name: 'b', url: 'http://localhost:3' }, { use: true })
  expect(currentContext(readConfigFile(path))).toEqual({ name: 'b', url: 'http://localhost:3' })
})

test('a file that is not one of contexts says so', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'windlass-config-')), 'config.yaml')
  writeFileSync(path, 'contexts: 5\n')
  expect(() => readConfigFile(path)).toThrow('is not a file of contexts')
})
