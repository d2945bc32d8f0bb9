import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createRepository, startGitServer } from './git-server.ts'
import { freePort, runProgram } from './process.ts'
import { startPostgres } from './postgres.ts'
import { startRegistry } from './registry.ts'

async function temporary(): Promise<{ path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'windlass-parts-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

test('a free port is not given twice, and not one that the kernel gives to others', async () => {
  const ports = await Promise.all(Array.from({ length: 500 }, () => freePort()))
  expect(new Set(ports).size).toBe(500)
  const [first] = (await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')).split(/\s+/)
  expect(Math.max(...ports)).toBeLessThan(Number(first))
})

test('a repository created from a folder can be cloned over http, and a named user can push to it', async () => {
  await using folder = await temporary()
  await writeFile(join(folder.path, 'hello.txt'), 'hello\n')
  await using root = await temporary()
  const commit = await createRepository({ root: root.path, name: 'demo/app', from: folder.path })
  await using server = await startGitServer({ root: root.path, auth: { user: 'ann', password: 'p@ss word' } })
  const url = `${server.url.replace('://', `://ann:${encodeURIComponent('p@ss word')}@`)}/demo/app.git`

  const clone = join(folder.path, 'clone')
  await runProgram('git', ['clone', '--quiet', url, clone])
  expect(await readFile(join(clone, 'hello.txt'), 'utf8')).toBe('hello\n')
  expect(await runProgram('git', ['-C', clone, 'rev-parse', 'HEAD'])).toBe(commit)
  await runProgram('git', ['-C', clone, 'push', '--quiet', 'origin', 'HEAD:refs/heads/other'])
  expect(await runProgram('git', ['ls-remote', url, 'refs/heads/other'])).toContain(commit)
})

test('the git server refuses a wrong password and does not serve files outside its folder', async () => {
  await using root = await temporary()
  await using server = await startGitServer({ root: root.path, auth: { user: 'ann', password: 'right' } })
  const refs = '/demo/app.git/info/refs?service=git-upload-pack'
  expect((await fetch(server.url + refs)).status).toBe(401)
  const headers = { authorization: `Basic ${Buffer.from('ann:right').toString('base64')}` }
  expect((await fetch(server.url + refs, { headers })).status).toBe(404)
  const outside = await fetch(`${server.url}/%2e%2e%2f%2e%2e/etc/passwd`, { headers })
  expect(outside.status).toBeGreaterThanOrEqual(400)
})

test('a registry with a password accepts only the right password', async () => {
  await using registry = await startRegistry({ auth: { user: 'bob', password: 'secret one' } })
  const ask = async (password: string): Promise<number> => {
    const authorization = `Basic ${Buffer.from(`bob:${password}`).toString('base64')}`
    return (await fetch(`${registry.url}/v2/`, { headers: { authorization } })).status
  }
  expect(await ask('secret one')).toBe(200)
  expect(await ask('secret two')).toBe(401)
})

test('PostgreSQL keeps acknowledged data after a power cut', async () => {
  await using postgres = await startPostgres()
  const psql = async (sql: string): Promise<string> =>
    (
      await promisify(execFile)('psql', ['--no-psqlrc', '--tuples-only', '--no-align', '--command', sql, postgres.url])
    ).stdout.trim()
  await psql('create table fact (n int)')
  await psql('insert into fact values (42)')
  await postgres.kill9()
  await postgres.start()
  expect(await psql('select n from fact')).toBe('42')
  expect(await psql('show fsync')).toBe('on')
})
