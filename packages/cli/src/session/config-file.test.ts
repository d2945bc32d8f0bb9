import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { currentContext, readConfigFile, saveContext } from './config-file.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'windlass-config-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

const fresh = (): string => join(folder(), 'deep', 'config.yaml')

test('only the owner can read the configuration file', () => {
  const path = fresh()
  saveContext(path, { name: 'a', url: 'http://localhost:1', apiKey: 'k' }, { use: true })
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('uses the first context, and later ones only if requested', () => {
  const path = fresh()
  saveContext(path, { name: 'a', url: 'http://localhost:1' }, { use: false })
  saveContext(path, { name: 'b', url: 'http://localhost:2' }, { use: false })
  expect(currentContext(readConfigFile(path))?.name).toBe('a')
  saveContext(path, { name: 'b', url: 'http://localhost:3' }, { use: true })
  expect(currentContext(readConfigFile(path))).toEqual({ name: 'b', url: 'http://localhost:3' })
})

test('rejects a file that is not a configuration file', () => {
  const path = join(folder(), 'config.yaml')
  writeFileSync(path, 'contexts: 5\n')
  expect(() => readConfigFile(path)).toThrow('is not a valid configuration file')
})
