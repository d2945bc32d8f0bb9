/** The page of the server: its document and files, and what is not part of it. */
import { mkdirSync, mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readServerConfig, toServerOptions } from '../../../src/config.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const DOCUMENT = '<!doctype html><script type="module" src="/assets/index-1a2b3c4d.js"></script>'

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

async function get(scene: HttpScene, path: string, headers: Record<string, string> = HTML, method = 'GET'): Promise<Reply> {
  const answer = await fetch(scene.server.url + path, { headers, method, redirect: 'manual' })
  return { status: answer.status, headers: answer.headers, body: await answer.text() }
}

/** Writes the files of a built page. */
function buildPage(folder: string): void {
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), DOCUMENT)
  writeFileSync(join(folder, 'terminal.html'), '<!doctype html><p>terminal</p>')
  writeFileSync(join(folder, 'boot.js'), 'export {}\n')
  writeFileSync(join(folder, 'assets/index-1a2b3c4d.js'), 'export {}\n')
}

test('answers the document for each address of the page, with its policy, and 304 for a known one', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'windlass-page-'))
  buildPage(folder.path)
  await using scene = await openHttpScene({ pageFolder: folder.path })
  for (const path of [
    '/',
    '/signin?next=%2Fbuilds',
    '/builds/65f0c1d2a3b4c5d6e7f80912/steps/a',
    '/pipelines/shop/app/-/edit',
    '/v1builds',
  ]) {
    const { status, body, headers } = await get(scene, path)
    expect([path, status, body]).toEqual([path, 200, DOCUMENT])
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('content-security-policy')).toContain("style-src 'self';")
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    const again = await get(scene, path, { ...HTML, 'if-none-match': headers.get('etag') ?? '' })
    expect([path, again.status, again.body]).toEqual([path, 304, ''])
  }
  expect((await get(scene, '/assets/index-1a2b3c4d.js', {})).headers.get('cache-control')).toContain('immutable')
  expect((await get(scene, '/boot.js', {})).headers.get('cache-control')).toBe('no-cache')
  expect(await get(scene, '/builds', HTML, 'HEAD')).toMatchObject({ status: 200, body: '' })
})

test('keeps problems for unknown addresses of the API, for programs and for other methods', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'windlass-page-'))
  buildPage(folder.path)
  await using scene = await openHttpScene({ pageFolder: folder.path })
  const unknown = ['/v1/none', '/v1', '/api/none', '/metrics/none', '/hooks/none', '/badges', '/assets/none-1a2b3c4d.js']
  for (const path of unknown) {
    const { status, headers, body } = await get(scene, path)
    expect([path, body === DOCUMENT, status >= 400]).toEqual([path, false, true])
    expect(headers.get('content-type')).toContain('application/problem+json')
  }
  expect((await get(scene, '/builds', { accept: 'application/json' })).status).toBe(404)
  expect((await get(scene, '/builds', HTML, 'POST')).status).toBe(404)
  expect((await get(scene, '/v1/status')).headers.get('content-type')).toContain('application/json')
})

test('only the document of the terminal allows inline styles, and pages of the server may frame it (W093)', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'windlass-page-'))
  buildPage(folder.path)
  await using scene = await openHttpScene({ pageFolder: folder.path })
  const policyOf = async (path: string): Promise<Set<string>> =>
    new Set((await get(scene, path)).headers.get('content-security-policy')?.split('; '))
  const [page, terminal] = [await policyOf('/'), await policyOf('/terminal.html')]
  expect([...terminal.difference(page)]).toEqual(["style-src 'self' 'unsafe-inline'", "frame-ancestors 'self'"])
  expect([...page.difference(terminal)]).toEqual(["style-src 'self'", "frame-ancestors 'none'"])
  const own = `/builds/${'a'.repeat(24)}/terminals/${'b'.repeat(24)}`
  expect([...(await policyOf(own))]).toEqual([...terminal])
  expect((await get(scene, own)).body).toContain('terminal')
  for (const path of [`${own}/more`, `/builds/${'a'.repeat(24)}/terminals`])
    expect([...(await policyOf(path))]).toEqual([...page])
  const { headers } = await get(scene, '/')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('referrer-policy')).toBe('same-origin')
  expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
  expect(headers.get('permissions-policy')).toContain('camera=()')
})

test('without a built page it says how to build one, and the API and the sign-in work (W096)', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'windlass-page-'))
  await using scene = await openHttpScene({ pageFolder: folder.path })
  const { status, body } = await get(scene, '/builds')
  expect([status, body]).toEqual([200, expect.stringContaining('npm run build --workspace packages/web')])
  expect((await get(scene, '/signin')).body).toContain('/assets/signin-')
  expect((await scene.admin.builds.list()).items).toEqual([])
})

test('WINDLASS_SERVER_UI=false serves no page', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'windlass-page-'))
  buildPage(folder.path)
  expect(toServerOptions(readServerConfig({ WINDLASS_SERVER_UI: 'false' })).hasPage).toBe(false)
  expect(toServerOptions(readServerConfig({})).hasPage).toBe(true)
  await using scene = await openHttpScene({ pageFolder: folder.path, hasPage: false })
  for (const path of ['/', '/builds', '/boot.js']) expect([path, (await get(scene, path)).status]).toEqual([path, 404])
  expect((await get(scene, '/signin')).body).toContain('/assets/signin-')
})
