/**
 * Static files for browsers: a folder of built files, read when the server starts. A request only looks one of them up by its name, so no path of the
 * file system is ever made from it.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isKnownTag } from './known-tag.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

/** Encodings of compressed files beside a file, the preferred one first. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const
type Encoding = (typeof ENCODINGS)[number][0]

/** Files below this folder may be cached forever if their name contains a hash. */
const HASHED_FOLDER = 'assets/'
const HASHED_NAME = /-[\w-]{8,}\.\w+$/
/** Characters without a meaning in the patterns of the router. */
const PLAIN_PATH = /^[\w./-]+$/

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
]
const CONTENT_SECURITY_POLICY = POLICY.join('; ')

/** The terminal is a document of its own: xterm.js writes inline styles. Only pages of the server show it in a frame. */
const TERMINAL_DOCUMENT = 'terminal.html'
const TERMINAL_POLICY = POLICY.map((rule) =>
  rule.startsWith('style-src') ? `${rule} 'unsafe-inline'` : rule.replace("frame-ancestors 'none'", "frame-ancestors 'self'"),
).join('; ')

/** Sent with every file, because a browser can open each of them as a document. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

interface Variant {
  readonly bytes: Buffer
  readonly etag: string
}

export interface Asset {
  /** Path in the folder, with `/`. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly plain: Variant
  readonly encoded: ReadonlyMap<Encoding, Variant>
}

/** Reads the files of a folder. Ignores symbolic links and hidden files. Throws if a name has characters other than letters, digits and `._-`. */
export function readAssets(folder: string): Asset[] {
  const files = new Map(listFiles(folder).map((path) => [path, readFileSync(join(folder, path))]))
  const isCompressed = (path: string): boolean =>
    ENCODINGS.some(([, suffix]) => path.endsWith(suffix) && files.has(path.slice(0, -suffix.length)))
  return [...files].filter(([path]) => !isCompressed(path)).map(([path, bytes]) => toAsset(path, bytes, files))
}

/** Returns the paths of regular files, with `/`. Does not follow symbolic links, including those to folders. */
function listFiles(folder: string, prefix = ''): string[] {
  return readdirSync(join(folder, prefix), { withFileTypes: true }).flatMap((entry) => {
    const path = prefix + entry.name
    if (entry.name.startsWith('.')) return []
    if (entry.isDirectory()) return listFiles(folder, `${path}/`)
    if (!entry.isFile()) return []
    if (!PLAIN_PATH.test(path)) throw new Error(`the file "${path}" of ${folder} cannot be served under this name`)
    return [path]
  })
}

function toAsset(path: string, bytes: Buffer, files: ReadonlyMap<string, Buffer>): Asset {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 32)
  const encoded = new Map<Encoding, Variant>()
  for (const [encoding, suffix] of ENCODINGS) {
    const compressed = files.get(path + suffix)
    if (compressed !== undefined) encoded.set(encoding, { bytes: compressed, etag: `"${hash}-${encoding}"` })
  }
  const isImmutable = path.startsWith(HASHED_FOLDER) && HASHED_NAME.test(path)
  const headers = {
    ...SECURITY_HEADERS,
    ...(path === TERMINAL_DOCUMENT && { 'content-security-policy': TERMINAL_POLICY }),
    'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    ...(encoded.size > 0 && { vary: 'accept-encoding' }),
  }
  return { path, headers, plain: { bytes, etag: `"${hash}"` }, encoded }
}

/**
 * Adds a route per folder and per file outside of folders: routes for a hundred files would take a third of the time in which a server starts. `index.html`
 * is also served for its folder, and other documents without `.html`.
 */
export function addAssets(server: FastifyInstance, assets: readonly Asset[]): void {
  const byUrl = new Map(assets.flatMap((asset) => urlsOf(asset.path).map((url) => [url, asset] as const)))
  for (const path of new Set([...byUrl.keys()].map((url) => url.replace(/^(\/[^/]+\/).+/, '$1*'))))
    server.get<{ Params: { '*'?: string } }>(path, { exposeHeadRoute: true }, async (request, reply) => {
      const { '*': name = '' } = request.params
      const asset = byUrl.get(path.replace(/\*$/, () => name))
      if (asset !== undefined) return sendAsset(asset, request, reply)
      reply.callNotFound()
      return reply
    })
}

function urlsOf(path: string): string[] {
  const short = path === 'index.html' ? '' : path.replace(/\/index\.html$/, '/').replace(/\.html$/, '')
  return [...new Set([`/${path}`, `/${short}`])]
}

/** Makes a document that is not a file. */
export function documentOf(html: string): Asset {
  return toAsset('index.html', Buffer.from(html), new Map())
}

/** Answers a request with a file. */
export function sendAsset(asset: Asset, request: Pick<FastifyRequest, 'headers'>, reply: FastifyReply): FastifyReply {
  const encoding = chooseEncoding(asset, request.headers['accept-encoding'])
  const { bytes, etag } = (encoding && asset.encoded.get(encoding)) ?? asset.plain
  reply.headers({ ...asset.headers, etag })
  if (isKnownTag(request.headers['if-none-match'], etag)) return reply.code(304).send()
  if (encoding !== undefined) reply.header('content-encoding', encoding)
  return reply.send(bytes)
}

/** Returns the preferred encoding that exists and that the browser accepts. */
function chooseEncoding({ encoded }: Asset, accepted: string | string[] = ''): Encoding | undefined {
  const names = new Set(
    [accepted]
      .flat()
      .join(',')
      .toLowerCase()
      .split(',')
      .map((part) => part.split(';').map((text) => text.trim()))
      .filter(([, weight = 'q=1']) => Number(weight.replace(/^q=/, '')) > 0)
      .map(([name]) => name),
  )
  return [...encoded.keys()].find((encoding) => names.has(encoding))
}
