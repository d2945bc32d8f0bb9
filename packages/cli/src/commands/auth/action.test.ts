import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROUTES } from '@windlass/client'
import { expect, onTestFinished, test } from 'vitest'
import { login } from './action.ts'

const KEY = { id: '65a1b2c3d4e5f60718293a4b', name: 'admin', role: 'admin', prefix: '65a1b2c3', createdAt: 1 }
const TOKEN = `${KEY.id}.${'k'.repeat(43)}`

/** Starts a server that creates a first key and answers everything else like a proxy whose server is away. */
async function openProxy(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    request.resume()
    if (request.url !== ROUTES.server.bootstrap.path)
      return void response.writeHead(502, { 'content-type': 'text/html' }).end('bad gateway')
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ ...KEY, token: TOKEN }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function logIn(options: object): Promise<{ readonly code: unknown; readonly lines: string[]; readonly config: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-login-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [configFile, codeFile, keyFile] = ['config.yaml', 'code', 'key'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(codeFile, 'CODE\n')
  writeFileSync(keyFile, `${TOKEN}\n`)
  writeFileSync(configFile, 'contexts: []\n')
  const lines: string[] = []
  const invocation = {
    args: [],
    options: { name: 'mine', firstAdmin: false, noVerify: false, codeFile, keyFile, ...options },
    out: { line: (line: string) => lines.push(line), note: (line: string) => lines.push(line) },
    settings: { configFile },
  } as unknown as Parameters<typeof login>[0]
  const code = await login(invocation).catch((error: { code: string }) => error.code)
  return { code, lines, config: readFileSync(configFile, 'utf8') }
}

test('saves the first admin key before it is verified, and warns if that fails', async () => {
  await using proxy = await openProxy()
  const { code, lines, config } = await logIn({ url: proxy.url, firstAdmin: true })
  expect(config).toContain(TOKEN)
  expect(config).toContain('current: mine')
  expect(lines).toEqual([
    'The key was saved as context "mine", but it could not be verified: The server answered 502: bad gateway',
    'Check it with `windlass auth current`.',
  ])
  expect(lines.join('\n')).not.toContain(TOKEN)
  expect(code).toBe(1)
})

test('saves no given key that the server does not confirm', async () => {
  await using proxy = await openProxy()
  const { code, config } = await logIn({ url: proxy.url })
  expect([code, config]).toEqual(['unavailable', 'contexts: []\n'])
})
