import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addAssets, readAssets } from './assets.ts'

const PUBLIC = join(import.meta.dirname, 'public')
const SCRIPT = 'export const answer = 42\n'.repeat(50)

let folder = ''
let url = ''
const server = fastify({ exposeHeadRoutes: false })

beforeAll(async () => {
  const outer = mkdtempSync(join(tmpdir(), 'windlass-assets-'))
  folder = join(outer, 'public')
  mkdirSync(join(folder, 'assets'), { recursive: true })
  mkdirSync(join(folder, 'deep'))
  writeFileSync(join(outer, 'secret.txt'), 'secret')
  writeFileSync(join(folder, 'index.html'), '<!doctype html>')
  writeFileSync(join(folder, 'help.html'), '<!doctype html><p>help</p>')
  writeFileSync(join(folder, 'deep/index.html'), 'deep')
  writeFileSync(join(folder, '.hidden'), 'hidden')
  writeFileSync(join(folder, 'assets/app-3fA9_b-c.js'), SCRIPT)
  writeFileSync(join(folder, 'assets/app-3fA9_b-c.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(folder, 'assets/app-3fA9_b-c.js.gz'), gzipSync(SCRIPT))
  writeFileSync(join(folder, 'assets/plain.css'), 'a {}')
  writeFileSync(join(folder, 'app-3fA9_b-c.js'), SCRIPT)
  symlinkSync(join(outer, 'secret.txt'), join(folder, 'link.txt'))
  symlinkSync(outer, join(folder, 'up'))
  addAssets(server, readAssets(folder))
  url = await server.listen({ host: '127.0.0.1', port: 0 })
})

afterAll(async () => {
  await server.close()
  rmSync(join(folder, '..'), { recursive: true, force: true })
})

/** Sends the path as it is, which `fetch` would normalize. */
async function get(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const { hostname, port } = new URL(url)
  const call = request({ hostname, port, path, method, headers }, (answer) => {
    text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject)
  })
  call.once('error', reject)
  call.end()
  return promise
}

test('caches files with a hash in their name forever, and checks all others', async () => {
  const cacheOf = async (path: string): Promise<string | null> => (await fetch(url + path)).headers.get('cache-control')
  expect(await cacheOf('/assets/app-3fA9_b-c.js')).toBe('public, max-age=31536000, immutable')
  for (const path of ['/', '/index.html', '/help', '/assets/plain.css', '/app-3fA9_b-c.js'])
    expect(await cacheOf(path), path).toBe('no-cache')
})

test('answers 304 for a known ETag, which changes with the content and the encoding', async () => {
  const first = await fetch(`${url}/help`)
  const etag = first.headers.get('etag') ?? ''
  expect(etag).toMatch(/^"[0-9a-f]{32}"$/)
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await fetch(`${url}/help`, { headers: { 'if-none-match': known } })
    expect([again.status, await again.text(), again.headers.get('etag')], known).toEqual([304, '', etag])
    expect(again.headers.get('content-security-policy')).not.toBeNull()
  }
  const other = await fetch(`${url}/`, { headers: { 'if-none-match': etag } })
  expect([other.status, other.headers.get('etag') === etag]).toEqual([200, false])
  const asset = async (accept: string): Promise<string | null> =>
    (await fetch(`${url}/assets/app-3fA9_b-c.js`, { headers: { 'accept-encoding': accept } })).headers.get('etag')
  expect(new Set([await asset('br'), await asset('gzip'), await asset('identity')]).size).toBe(3)
})

test('serves a compressed file to browsers that accept it', async () => {
  const raw = async (accept: string): Promise<[string | undefined, Buffer]> => {
    const { headers, rawPayload } = await server.inject({
      url: '/assets/app-3fA9_b-c.js',
      headers: { 'accept-encoding': accept },
    })
    expect(headers['vary']).toBe('accept-encoding')
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8')
    return [headers['content-encoding'] as string | undefined, rawPayload]
  }
  const [brotli, first] = await raw('gzip, deflate, br')
  expect([brotli, brotliDecompressSync(first).toString()]).toEqual(['br', SCRIPT])
  const [gzip, second] = await raw('GZIP;q=0.5, br;q=0')
  expect([gzip, gunzipSync(second).toString()]).toEqual(['gzip', SCRIPT])
  for (const accept of ['', 'identity', 'br;q=0, gzip;q=0.0', 'zstd']) {
    const [none, bytes] = await raw(accept)
    expect([none, bytes.toString()]).toEqual([undefined, SCRIPT])
  }
  expect((await get('/assets/app-3fA9_b-c.js.br')).status).toBe(404)
})

test('answers HEAD without a body, and only GET and HEAD', async () => {
  const head = await fetch(`${url}/help`, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '26', ''])
  for (const method of ['POST', 'PUT', 'DELETE']) expect((await get('/help', {}, method)).status).toBe(404)
})

test('serves documents without their extension, and index.html for its folder', async () => {
  expect((await get('/help')).body).toBe('<!doctype html><p>help</p>')
  expect((await get('/help.html')).body).toBe('<!doctype html><p>help</p>')
  expect((await get('/deep/')).body).toBe('deep')
})

test('serves nothing outside of the folder, no links and no hidden files', async () => {
  const outside = [
    '/../secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e/secret.txt',
    '/%2e%2e%2fsecret.txt',
    '/assets/../../secret.txt',
    '/assets/%2e%2e/%2e%2e/secret.txt',
    '/assets/..%5c..%5csecret.txt',
    '/assets/%252e%252e/%252e%252e/secret.txt',
    '//secret.txt',
    '/secret.txt%00',
    '/help%00.html',
    '/help.html%00',
    '/%c0%ae%c0%ae/secret.txt',
    '/link.txt',
    '/up/secret.txt',
    '/up',
    '/.hidden',
    '/assets/',
    '/assets',
  ]
  for (const path of outside) {
    const { status, body } = await get(path)
    expect([path, status >= 400 && status < 500, body === 'secret']).toEqual([path, true, false])
  }
})

test('refuses a file name that the router would read as a pattern', () => {
  const odd = mkdtempSync(join(tmpdir(), 'windlass-assets-'))
  writeFileSync(join(odd, ':name.js'), '')
  expect(() => readAssets(odd)).toThrow('cannot be served')
  rmSync(odd, { recursive: true })
})

test('allows only scripts and styles of the server itself, and no frames around it', async () => {
  const { headers } = await fetch(`${url}/`)
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('referrer-policy')).toBe('same-origin')
})

test('our own pages have no inline code, and each hashed name is the hash of its content', () => {
  const names = readdirSync(PUBLIC, { recursive: true, encoding: 'utf8' })
  const pages = names.filter((name) => name.endsWith('.html')).map((name) => readFileSync(join(PUBLIC, name), 'utf8'))
  expect(pages.length).toBeGreaterThan(0)
  for (const page of pages) {
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\s(?:style|on\w+)=|javascript:/i)
    const paths = [...page.matchAll(/(?:src|href)="\/([^"]+)"/g)].map(([, path = '']) => path)
    // The sign-in through a provider is a call of the server.
    for (const path of paths.filter((one) => !one.startsWith('v1/'))) expect(names).toContain(path)
  }
  for (const name of names.filter((path) => path.startsWith('assets/'))) {
    const hash = createHash('sha256')
      .update(readFileSync(join(PUBLIC, name)))
      .digest('hex')
      .slice(0, 12)
    expect(name).toBe(name.replace(/-[^-.]+\./, `-${hash}.`))
  }
})
