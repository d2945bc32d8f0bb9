/** A registry for tests: Debian's docker-registry on a port of localhost, optionally with basic authentication. */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { removeImages } from '../../../../e2e/support/leftovers.ts'
import { freePort } from '../../../../e2e/support/process.ts'

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
  for (let n = 0; (await get('/v2/').catch(() => undefined))?.ok !== true; n += 1) {
    if (n > 1_200 || child.exitCode !== null) throw new Error(`docker-registry does not answer on port ${port}`)
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
      await removeImages((repository) => repository.startsWith(`localhost:${port}/`))
    },
  }
}

/** Hashes a login. The registry accepts only bcrypt; Python's crypt has it on Debian. */
async function bcryptLine({ username, password }: { username: string; password: string }): Promise<string> {
  const script = 'import crypt,sys; print(crypt.crypt(sys.argv[1], crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)))'
  const { stdout } = await run('python3', ['-W', 'ignore', '-c', script, password])
  return `${username}:${stdout.trim().replace('$2b$', '$2y$')}\n`
}
