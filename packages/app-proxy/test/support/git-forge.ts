/** A forge with the API of Gitea as far as a commit needs it, in front of real repositories that `git http-backend` serves. */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { createRepository, startGitServer } from '../../../../e2e/support/git-server.ts'
import { runProgram } from '../../../../e2e/support/process.ts'

export const GIT_TOKEN = 'git-token-of-this-test'
export const REPO = 'ann/app'

export interface GitCall {
  readonly path: string
  /** Not compressed. */
  readonly body: string
}

export interface GitForge extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The first commit. */
  readonly first: string
  /** Calls of git, oldest first. */
  readonly calls: GitCall[]
  /** Awaited before a call is answered, also one of the API. */
  before: (call: GitCall) => Promise<void>
  /** Awaited before the answer to a call of git is sent. If it throws, the connection breaks instead. */
  after: (call: GitCall) => Promise<void>
  /** True keeps the end of what is fetched back. */
  holdsEnd: boolean
  /** Runs git in the repository, which is bare. Returns its output. */
  git(...args: string[]): Promise<string>
}

/** Starts a forge with the repository `ann/app`, which has `files` on its branch `main`. */
export async function startGitForge(files: Readonly<Record<string, string | Buffer>>): Promise<GitForge> {
  await using opening = new AsyncDisposableStack()
  const root = mkdtempSync(join(tmpdir(), 'windlass-git-forge-'))
  opening.defer(() => rmSync(root, { recursive: true, force: true }))
  const from = join(root, 'files')
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(from, name)), { recursive: true })
    writeFileSync(join(from, name), content)
  }
  const first = await createRepository({ root, name: REPO, from })
  const bare = join(root, `${REPO}.git`)
  const backend = opening.use(await startGitServer({ root, auth: { user: 'ann', password: GIT_TOKEN } }))
  const server = http.createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '', method, headers } = request
    const bytes = await buffer(request)
    const body = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('latin1')
    await forge.before({ path, body })
    if (path.startsWith('/api/')) return answerApi(path, response)
    forge.calls.push({ path, body })
    const { 'transfer-encoding': _chunked, ...rest } = headers
    const passed = http.request({
      host: '127.0.0.1',
      port: backend.port,
      method,
      path,
      headers: { ...rest, 'content-length': String(bytes.length) },
      agent: false,
    })
    passed.end(bytes)
    const [given] = (await once(passed, 'response')) as [IncomingMessage]
    const content = await buffer(given)
    await forge.after({ path, body })
    response.writeHead(given.statusCode ?? 502, given.headers)
    if (!forge.holdsEnd || !body.includes('command=fetch')) return void response.end(content)
    response.write(content.subarray(0, -100))
    return undefined
  }

  await once(server.listen(0, '127.0.0.1'), 'listening')
  opening.defer(async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const opened = opening.move()
  const forge: GitForge = {
    url: `http://127.0.0.1:${port}`,
    port,
    first,
    calls: [],
    before: async () => undefined,
    after: async () => undefined,
    holdsEnd: false,
    git: (...args) => runProgram('git', ['-C', bare, ...args]),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
  return forge
}

function answerApi(path: string, response: ServerResponse): void {
  const repository = { full_name: REPO, default_branch: 'main', permissions: { push: true } }
  const body = path === '/api/v1/user' ? { login: 'ann', email: 'ann@example.com' } : path.includes('/commits') ? [] : repository
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
