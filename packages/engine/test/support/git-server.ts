/** A git server over http for tests: `git http-backend` behind node:http, optionally with basic authentication. */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile, mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { containerHost } from '../../../../e2e/support/docker.ts'

const run = promisify(execFile)

/** Address of this machine for containers on the default bridge. */
export const HOST = await containerHost()

export interface TestRepository {
  /** URL for containers. */
  readonly url: string
  /** Folder of the bare repository. */
  readonly path: string
  /** Writes files, commits, tags and pushes. Returns the commit. */
  commit(files: Readonly<Record<string, string>>, options?: { message?: string; branch?: string; tag?: string }): Promise<string>
}

export interface GitServer extends AsyncDisposable {
  readonly port: number
  /** Number of requests so far. */
  readonly requests: string[]
  /** Requires this login for each path from now on. */
  login: { username: string; password: string } | undefined
  /** Closes the connection for this many of the next requests. */
  failures: number
  create(name: string): Promise<TestRepository>
}

export async function startGitServer(): Promise<GitServer> {
  const root = await mkdtemp(join(tmpdir(), 'git-server-'))
  const state: { login: GitServer['login']; failures: number; requests: string[] } = {
    login: undefined,
    failures: 0,
    requests: [],
  }
  const server = createServer((request, response) => {
    state.requests.push(`${request.method} ${request.url}`)
    if (state.failures > 0) {
      state.failures -= 1
      request.socket.destroy()
      return
    }
    const { login } = state
    const expected = login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`
    if (expected !== undefined && request.headers.authorization !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    const [path = '/', query = ''] = (request.url ?? '/').split('?')
    const backend = spawn('git', ['http-backend'], {
      env: {
        ...process.env,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        REMOTE_USER: 'test',
      },
    })
    request.pipe(backend.stdin)
    const chunks: Buffer[] = []
    backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    backend.on('close', () => {
      const answer = Buffer.concat(chunks)
      const end = answer.indexOf('\r\n\r\n')
      const headers = answer
        .subarray(0, end)
        .toString()
        .split('\r\n')
        .map((line) => line.split(': '))
      const status = headers.find(([name]) => name === 'Status')?.[1]
      for (const [name = '', value = ''] of headers) if (name !== 'Status' && name !== '') response.setHeader(name, value)
      response.writeHead(status === undefined ? 200 : Number.parseInt(status, 10)).end(answer.subarray(end + 4))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    port,
    get requests() {
      return state.requests
    },
    get login() {
      return state.login
    },
    set login(login) {
      state.login = login
    },
    get failures() {
      return state.failures
    },
    set failures(failures) {
      state.failures = failures
    },
    create: (name) => createRepository(root, name, port),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(root, { recursive: true, force: true })
    },
  }
}

async function createRepository(root: string, name: string, port: number): Promise<TestRepository> {
  const path = join(root, `${name}.git`)
  await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', path])
  await run('git', ['-C', path, 'config', 'uploadpack.allowFilter', 'true'])
  const work = join(root, 'work', name)
  await run('git', ['init', '--quiet', '--initial-branch=main', work])
  const git = (...args: string[]) => run('git', ['-C', work, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args])
  await git('remote', 'add', 'origin', path)
  return {
    url: `http://${HOST}:${port}/${name}.git`,
    path,
    async commit(files, { message = 'change', branch = 'main', tag } = {}) {
      await git('checkout', '--quiet', '-B', branch)
      for (const [file, text] of Object.entries(files)) {
        await mkdir(dirname(join(work, file)), { recursive: true })
        await writeFile(join(work, file), text)
      }
      await git('add', '--all')
      await git('commit', '--quiet', '--allow-empty', '--message', message)
      if (tag !== undefined) await git('tag', '--force', tag)
      await git('push', '--quiet', '--force', 'origin', branch, '--tags')
      return (await git('rev-parse', 'HEAD')).stdout.trim()
    },
  }
}
