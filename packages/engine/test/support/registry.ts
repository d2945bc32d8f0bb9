/** A registry for tests: Debian's docker-registry on a port of localhost, with basic authentication where asked. */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface Registry extends AsyncDisposable {
  /** `localhost:<port>`. */
  readonly domain: string
  tags(repository: string): Promise<readonly string[]>
}

const run = promisify(execFile)

export async function startRegistry(login?: { username: string; password: string }): Promise<Registry> {
  const folder = await mkdtemp(join(tmpdir(), 'registry-'))
  const port = await freePort()
  const auth = login === undefined ? '' : `auth:\n  htpasswd:\n    realm: test\n    path: ${folder}/htpasswd\n`
  if (login !== undefined) await writeFile(join(folder, 'htpasswd'), await bcryptLine(login))
  const config = `version: 0.1\nlog: {level: error}\nstorage:\n  filesystem: {rootdirectory: ${folder}/data}\nhttp: {addr: '127.0.0.1:${port}'}\n${auth}`
  await writeFile(join(folder, 'config.yml'), config)
  const child = spawn('docker-registry', ['serve', join(folder, 'config.yml')], { stdio: 'ignore' })
  const headers = login && { authorization: `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}` }
  const get = (path: string) => fetch(`http://localhost:${port}${path}`, { ...(headers && { headers }) })
  for (let n = 0; n < 100; n += 1) {
    if ((await get('/v2/').catch(() => undefined))?.ok === true) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    domain: `localhost:${port}`,
    async tags(repository) {
      const answer: unknown = await (await get(`/v2/${repository}/tags/list`)).json()
      const tags =
        typeof answer === 'object' && answer !== null && 'tags' in answer && Array.isArray(answer.tags)
          ? answer.tags.map(String)
          : []
      return tags.toSorted()
    },
    async [Symbol.asyncDispose]() {
      child.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** The registry takes bcrypt only; Python's crypt has it on Debian. */
async function bcryptLine({ username, password }: { username: string; password: string }): Promise<string> {
  const script = 'import crypt,sys; print(crypt.crypt(sys.argv[1], crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)))'
  const { stdout } = await run('python3', ['-W', 'ignore', '-c', script, password])
  return `${username}:${stdout.trim().replace('$2b$', '$2y$')}\n`
}
