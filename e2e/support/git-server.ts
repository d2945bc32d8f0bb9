import { spawn } from 'node:child_process'
import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runProgram } from './process.ts'

const BODY_LIMIT_BYTES = 256 * 1024 * 1024
const HEAD_LIMIT_BYTES = 64 * 1024

export type GitServer = {
  /** Base URL without a trailing slash; a repository `demo/app` is `${url}/demo/app.git`. */
  readonly url: string
  readonly port: number
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export type GitServerOptions = {
  /** Folder of bare repositories: `<root>/<owner>/<name>.git`. */
  root: string
  /** Address to listen on, default 127.0.0.1. Containers and pods need an address that they can reach. */
  host?: string
  port?: number
  /** If set, every request needs this name and password (HTTP basic). */
  auth?: { user: string; password: string }
}

/**
 * Serves bare git repositories over HTTP (git's smart protocol, clone and push) with Debian's `git http-backend`. Without `auth`, anonymous users may
 * read; only a named user may push. Requests above 256 MiB are refused.
 */
export async function startGitServer(options: GitServerOptions): Promise<GitServer> {
  const root = resolve(options.root)
  const host = options.host ?? '127.0.0.1'
  const server = createServer((request, response) => {
    if (options.auth !== undefined && !isAllowed(request, options.auth)) {
      request.resume()
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES) {
      response.writeHead(413, { connection: 'close' }).end()
      return
    }
    serve(root, options.auth?.user, request, response)
  })
  server.listen(options.port ?? 0, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the git server has no port')
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return { url: `http://${host}:${address.port}`, port: address.port, close, [Symbol.asyncDispose]: close }
}

function isAllowed(request: IncomingMessage, auth: { user: string; password: string }): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  const expected = `Basic ${Buffer.from(`${auth.user}:${auth.password}`).toString('base64')}`
  return timingSafeEqual(digest(request.headers.authorization ?? ''), digest(expected))
}

/** Passes one request to `git http-backend`, a CGI program (RFC 3875): headers in the environment, the body on stdin. */
function serve(root: string, user: string | undefined, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const header = (name: string): string => String(request.headers[name] ?? '')
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GATEWAY_INTERFACE: 'CGI/1.1',
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: header('content-type'),
      CONTENT_LENGTH: header('content-length'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      GIT_PROTOCOL: header('git-protocol'),
      REMOTE_ADDR: request.socket.remoteAddress ?? '',
      REMOTE_USER: user ?? '',
    },
  })
  response.on('close', () => child.kill())
  child.on('error', () => response.destroy())
  child.stdin.on('error', () => request.unpipe(child.stdin).resume())
  let received = 0
  request.on('data', (chunk: Buffer) => {
    received += chunk.length
    if (received > BODY_LIMIT_BYTES) request.destroy()
  })
  request.pipe(child.stdin)
  answer(child.stdout, response)
}

/** Splits the CGI output into head and body; the body streams with back-pressure. */
function answer(output: NodeJS.ReadableStream, response: ServerResponse): void {
  let head = Buffer.alloc(0)
  const onData = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) {
      if (head.length > HEAD_LIMIT_BYTES) response.destroy()
      return
    }
    output.off('data', onData)
    output.off('end', onEnd)
    let status = 200
    for (const line of head.subarray(0, end).toString('latin1').split('\r\n')) {
      const colon = line.indexOf(':')
      const name = line.slice(0, colon)
      const value = line.slice(colon + 1).trim()
      if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    response.writeHead(status)
    response.write(head.subarray(end + 4))
    output.pipe(response)
  }
  const onEnd = (): void => {
    response.writeHead(500).end()
  }
  output.on('data', onData)
  output.on('end', onEnd)
}

export type RepositoryOptions = {
  /** The server's folder of bare repositories. */
  root: string
  /** `owner/name`. */
  name: string
  /** Folder whose files become the first commit of `main`. */
  from: string
}

/** Creates or replaces the bare repository `<root>/<name>.git` with one commit on `main`. Returns the hash of the commit. */
export async function createRepository(options: RepositoryOptions): Promise<string> {
  const bare = join(options.root, `${options.name}.git`)
  const work = await mkdtemp(join(tmpdir(), 'windlass-repository-'))
  const git = (...args: string[]): Promise<string> =>
    runProgram('git', ['-C', work, '-c', 'user.name=Windlass', '-c', 'user.email=windlass@example.com', ...args])
  try {
    await cp(options.from, work, { recursive: true })
    await git('init', '--quiet', '--initial-branch=main')
    await git('add', '--all')
    await git('commit', '--quiet', '--message', 'First commit')
    await rm(bare, { recursive: true, force: true })
    await git('clone', '--quiet', '--bare', work, bare)
    return await git('rev-parse', 'HEAD')
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}
