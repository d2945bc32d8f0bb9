/** A GitOps runtime at a real forge: its app-proxy, users with their Git tokens, and what the repositories have. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { openScene, type Answer, type Scene } from '../../../packages/app-proxy/test/support/scene.ts'
import { callWindlass } from '../../../packages/cli/test/windlass.ts'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { startGitea, type Gitea, type GiteaUser } from '../../support/gitea.ts'

const run = promisify(execFile)

export interface GitopsScene extends AsyncDisposable {
  readonly server: HttpScene
  /** The app-proxy of the runtime `prod`. */
  readonly scene: Scene
  /** Owner of the repositories. */
  readonly ann: GiteaUser
  /**
   * Keys of the server: `ada` is an admin, `ben` and `rea` are developers, and `vic` is a viewer. `ada` has the Git token of `ann`, `ben` and `vic` that of a user who may write,
   * and `rea` that of one who may only read.
   */
  readonly keys: Record<'ada' | 'ben' | 'rea' | 'vic', string>
  /** URL of the forge for the app-proxy, which is a proxy in front of it. */
  readonly url: string
  /** Token of the runtime `prod`. */
  readonly runtimeToken: string
  /** Awaited before the forge gets a push. */
  beforePush: () => Promise<void>
  /** Awaited before the answer to a push is passed on. If it throws, the connection is cut. */
  afterPush: () => Promise<void>
  /** Writes a file of `ann/REPO` with the API of the forge, as another person would. */
  write(repo: string, path: string, content: string): Promise<void>
  /** Returns what a git command prints in a clone of `ann/REPO`. */
  inClone(repo: string, ...args: string[]): Promise<string>
  /** Returns a file of `ann/gitops`. */
  read(path: string): Promise<string>
  /** Lists the files of `ann/REPO`. */
  filesOf(repo: string): Promise<string[]>
  /** Calls the app-proxy. Default: as the admin. */
  call(method: string, path: string, options?: { by?: string; body?: object }): Promise<Answer>
  /** Runs `windlass` for the runtime. Default: with the key of the admin. */
  windlass(line: string, key?: string): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>
}

/** Starts the parts. `ann/gitops` has only a README, and `ann/apps` has `prod/app.yaml`. */
export async function openGitopsScene(): Promise<GitopsScene> {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await openHttpScene())
  const forge = opening.use(await startGitea())
  const front = opening.use(await startFront(forge, { before: () => at.beforePush(), after: () => at.afterPush() }))
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken('prod')
  const control = { url: server.server.url, accountId: server.server.app.accountId, runtimeToken }
  const scene = opening.use(await openScene(control))
  const [ann, ben, rea] = [await forge.addUser('ann'), await forge.addUser('ben'), await forge.addUser('rea')]
  const integration = { provider: 'gitea', url: front.url }
  const put = await scene.call('PUT', '/git-integrations/default', { token: server.adminToken, body: integration })
  expect(put.status).toBe(200)
  const addKey = async (name: string, role: 'admin' | 'developer' | 'viewer', user: GiteaUser): Promise<string> => {
    await server.admin.users.create({ name, role, password: 'correct horse battery' })
    const { token } = await server.admin.keys.create({ name: `${name}-key`, role: 'admin', owner: name })
    const registered = await scene.call('PUT', '/git-integrations/default/token', { token, body: { token: user.token } })
    expect(registered.status).toBe(200)
    return token
  }
  const keys = {
    ada: await addKey('ada', 'admin', ann),
    ben: await addKey('ben', 'developer', ben),
    rea: await addKey('rea', 'developer', rea),
    vic: await addKey('vic', 'viewer', ben),
  }
  for (const name of ['gitops', 'apps']) {
    await ann.api('POST', '/user/repos', { name, private: true, default_branch: 'main', auto_init: true })
    await ann.api('PUT', `/repos/ann/${name}/collaborators/ben`, { permission: 'write' })
    await ann.api('PUT', `/repos/ann/${name}/collaborators/rea`, { permission: 'read' })
  }
  const opened = opening.move()
  const at: GitopsScene = {
    server,
    scene,
    ann,
    keys,
    url: front.url,
    runtimeToken,
    beforePush: async () => undefined,
    afterPush: async () => undefined,
    async write(repo, path, content) {
      const contents = `/repos/ann/${repo}/contents/${path}`
      const found = (await ann.api('GET', contents).catch(() => undefined)) as { sha: string } | undefined
      const body = { content: Buffer.from(content).toString('base64'), message: `Write ${path}`, branch: 'main' }
      if (found === undefined) await ann.api('POST', contents, body)
      else await ann.api('PUT', contents, { ...body, sha: found.sha })
    },
    async inClone(repo, ...args) {
      const folder = mkdtempSync(join(tmpdir(), 'windlass-clone-'))
      try {
        const env = { ...process.env, ...ann.gitEnv }
        await run('git', ['clone', '--quiet', `${forge.url}/ann/${repo}.git`, folder], { env })
        return (await run('git', ['-C', folder, ...args], { env })).stdout
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    read: (path) => at.inClone('gitops', 'show', `HEAD:${path}`),
    filesOf: async (repo) => (await at.inClone(repo, 'ls-tree', '-r', '--name-only', 'HEAD')).trim().split('\n'),
    call: (method, path, { by = keys.ada, body } = {}) =>
      scene.call(method, path, { token: by, ...(body !== undefined && { body }) }),
    async windlass(line, key = keys.ada) {
      const own = { WINDLASS_URL: server.server.url, WINDLASS_API_KEY: key, WINDLASS_CONFIG: '/nowhere/config', NO_COLOR: '1' }
      const isOfServer = /^(?:gitops (?:config (?:get|reset)$|promote|release)|get|describe)/.test(line)
      const words = [...line.split(' '), ...(isOfServer ? [] : ['--runtime-url', scene.proxy.url])]
      return callWindlass(words, { ...process.env, ...own })
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
  await at.write('apps', 'prod/app.yaml', 'a: 1\n')
  return at
}

interface PushHooks {
  readonly before: () => Promise<void>
  readonly after: () => Promise<void>
}

/** Starts a proxy in front of a forge, which awaits `before` and `after` around a push. */
async function startFront(forge: Gitea, { before, after }: PushHooks): Promise<AsyncDisposable & { readonly url: string }> {
  const target = new URL(forge.url)
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    const isPush = request.method === 'POST' && request.url?.endsWith('/git-receive-pack') === true
    if (isPush) await before()
    const { 'transfer-encoding': _chunked, ...headers } = request.headers
    const passed = http.request({
      host: target.hostname,
      port: target.port,
      method: request.method,
      path: request.url,
      headers: { ...headers, 'content-length': String(body.length) },
      agent: false,
    })
    passed.end(body)
    const [given] = (await once(passed, 'response')) as [IncomingMessage]
    if (isPush) {
      const answer = await buffer(given)
      await after()
      return void response.writeHead(given.statusCode ?? 502, given.headers).end(answer)
    }
    response.writeHead(given.statusCode ?? 502, given.headers)
    given.pipe(response)
    return undefined
  }
  const front = http.createServer((request, response) => {
    pass(request, response).catch(() => response.destroy())
  })
  await once(front.listen(0, '127.0.0.1'), 'listening')
  const address = front.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    async [Symbol.asyncDispose]() {
      front.closeAllConnections()
      await new Promise((done) => front.close(done))
    },
  }
}
