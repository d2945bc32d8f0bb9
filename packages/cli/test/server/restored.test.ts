/** A server of `windlass up` that is restored from a backup, by the commands of the guide. */
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSandbox, pipelineOf, startUp, type Sandbox } from '../support.ts'

let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await openSandbox()
})

afterAll(() => sandbox[Symbol.asyncDispose]())

test('a backup is restored as the guide says: all builds are there, and the new server has an admin key', async () => {
  await using first = await startUp(sandbox, 'saved')
  const path = await sandbox.file('hello.yml', pipelineOf(sandbox, { hello: ['echo hello'] }))
  const id = (await sandbox.run(['run', '-f', path, '-d'])).stdout.trim()
  expect((await sandbox.run(['wait', id])).code).toBe(0)
  const slow = await sandbox.file('slow.yml', pipelineOf(sandbox, { slow: ['echo begun', 'sleep 600'] }))
  const running = (await sandbox.run(['run', '-f', slow, '-d'])).stdout.trim()
  await expect.poll(async () => (await sandbox.call(['logs', running])).stdout).toContain('begun')
  const archive = join(sandbox.folder, 'saved.tar.gz')
  expect((await sandbox.run(['server', 'backup', archive])).code).toBe(0)
  await sandbox.run(['up', '--stop', '--data', first.data])
  const server = join(sandbox.folder, 'restored/server')
  await mkdir(server, { recursive: true, mode: 0o700 })
  await copyFile(join(first.data, 'server/master.key'), join(server, 'master.key'))
  const restored = await sandbox.run(['server', 'restore', archive, '--data', server])
  expect(restored, restored.stderr).toMatchObject({ code: 0 })
  const recovered = await sandbox.run(['server', 'recover-admin', '--data', server])
  expect(recovered, recovered.stderr).toMatchObject({ code: 0 })
  await using second = await startUp(sandbox, 'restored')
  expect((await sandbox.run(['get', 'builds', '-o', 'name'])).stdout).toBe(`build/${running}\nbuild/${id}\n`)
  // The agent has a new token, and finds that the attempt of the old server is gone.
  const attempt = async (): Promise<string> => (await sandbox.call(['describe', 'build', running])).stdout
  await expect.poll(attempt, { timeout: 240_000, interval: 500 }).toMatch(/^2 +(started|running)/m)
  expect((await sandbox.run(['terminate', running])).code).toBe(0)
  expect((await sandbox.run(['wait', running, '--status', 'terminated'])).code).toBe(0)
  expect((await sandbox.run(['logs', id])).stdout).toContain('hello')
  // The key that was made without the server works as well, and the audit log has both.
  const env = { WINDLASS_URL: second.url, WINDLASS_API_KEY: recovered.stdout.trim() }
  const audit = await sandbox.run(['audit', 'list'], { env })
  expect(audit.stdout.match(/RECOVER admin/g), audit.stderr).toHaveLength(2)
  expect((await sandbox.run(['audit', 'verify'], { env })).code).toBe(0)
})
