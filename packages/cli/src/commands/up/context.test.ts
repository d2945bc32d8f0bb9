import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readConfigFile } from '../../session/config-file.ts'
import { requireOwnFolder, saveLocalContext } from './context.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'windlass-context-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

test('the server of a second folder gets a context of its own, and a restart keeps the name', async () => {
  const file = join(await folder(), 'config.yaml')
  saveLocalContext(file, { url: 'http://127.0.0.1:7400', adminKey: 'first' })
  saveLocalContext(file, { url: 'http://127.0.0.1:7500', adminKey: 'second' })
  expect(readConfigFile(file)).toMatchObject({
    current: 'local-7500',
    contexts: [
      { name: 'local', url: 'http://127.0.0.1:7400', apiKey: 'first' },
      { name: 'local-7500', url: 'http://127.0.0.1:7500', apiKey: 'second' },
    ],
  })
  saveLocalContext(file, { url: 'http://127.0.0.1:7600', adminKey: 'first' })
  expect(readConfigFile(file).contexts).toContainEqual({ name: 'local', url: 'http://127.0.0.1:7600', apiKey: 'first' })
  // The address belongs to another server now.
  saveLocalContext(file, { url: 'http://127.0.0.1:7600', adminKey: 'third' })
  expect(readConfigFile(file).contexts).toContainEqual({ name: 'local', url: 'http://127.0.0.1:7600', apiKey: 'third' })
})

test('a folder into which a server was restored is refused with its right place', async () => {
  const data = await folder()
  expect(() => requireOwnFolder(data)).not.toThrow()
  await writeFile(join(data, 'windlass.db'), '')
  expect(() => requireOwnFolder(data)).toThrow(`keeps in ${join(data, 'server')}`)
  await mkdir(join(data, 'server'))
  expect(() => requireOwnFolder(data)).not.toThrow()
})
