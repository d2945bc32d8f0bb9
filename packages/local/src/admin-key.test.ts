import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiClient } from '@windlass/client'
import { fault } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { findAdminKey } from './admin-key.ts'

async function temporaryFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'windlass-admin-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

function clientOf(codes: unknown[]): ApiClient {
  const bootstrap = async (body: unknown): Promise<{ token: string }> => {
    codes.push(body)
    return { token: 'id.secret' }
  }
  return { server: { bootstrap } } as unknown as ApiClient
}

test('asks for the key again if its file could not be written, or was left empty by a full disk', async () => {
  const folder = await temporaryFolder()
  const [keyFile, codeFile] = [join(folder, 'later/admin.token'), join(folder, 'bootstrap.code')]
  await writeFile(codeFile, 'CODE\n')
  const codes: unknown[] = []
  const find = (): Promise<string> => findAdminKey(clientOf(codes), { keyFile, codeFile })
  await expect(find()).rejects.toMatchObject({ code: 'ENOENT' })
  await mkdir(join(folder, 'later'))
  await writeFile(keyFile, '')
  expect(await find()).toBe('id.secret')
  expect(await find()).toBe('id.secret')
  expect(codes).toEqual([{ code: 'CODE' }, { code: 'CODE' }])
  expect([await readFile(keyFile, 'utf8'), (await stat(keyFile)).mode & 0o777]).toEqual(['id.secret\n', 0o600])
  expect(await readdir(join(folder, 'later'))).toEqual(['admin.token'])
})

test('makes a key for a restored database, whose keys are not at hand, and refuses the database of another server', async () => {
  const folder = await temporaryFolder()
  const [keyFile, codeFile] = [join(folder, 'admin.token'), join(folder, 'bootstrap.code')]
  const bootstrap = (): Promise<never> => Promise.reject(fault('bootstrap-closed'))
  const closed = { server: { bootstrap } } as unknown as ApiClient
  await expect(findAdminKey(closed, { keyFile, codeFile })).rejects.toMatchObject({ code: 'unauthenticated' })
  const recover = async (): Promise<string> => 'id.recovered'
  expect(await findAdminKey(closed, { keyFile, codeFile, recover })).toBe('id.recovered')
  expect(await readFile(keyFile, 'utf8')).toBe('id.recovered\n')
})
