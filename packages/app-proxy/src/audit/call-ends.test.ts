/** Ends of calls at a control plane of another version. */
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { newId, nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { createClient } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openCallEnds } from './call-ends.ts'

const REFUSAL = {
  type: 'urn:windlass:fault:request-invalid',
  title: 'The request is invalid',
  status: 400,
  code: 'request-invalid',
  detail: 'Unrecognized key: "hasEffect"',
  message: 'Unrecognized key: "hasEffect"',
}

/** Starts a control plane that answers by the body of each end. */
async function openControlPlane(
  answer: (body: unknown, response: ServerResponse) => void,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    json(request).then(
      (body) => answer(body, response),
      () => response.destroy(),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

test('a server that does not know that a call had an effect gets the rest, and files of another version stay', async () => {
  await using opened = new AsyncDisposableStack()
  const taken: unknown[] = []
  const { url } = opened.use(
    await openControlPlane((body, response) => {
      const isKnown = typeof body === 'object' && body !== null && !('hasEffect' in body)
      if (isKnown) taken.push(body)
      response.writeHead(isKnown ? 204 : 400, { 'content-type': 'application/problem+json' })
      response.end(isKnown ? undefined : JSON.stringify(REFUSAL))
    }),
  )
  const folder = mkdtempSync(join(tmpdir(), 'windlass-call-ends-'))
  opened.defer(() => rmSync(folder, { recursive: true }))
  const [later, coming, draft] = [newId(1), newId(2), newId(3)]
  writeFileSync(join(folder, `${later}.json`), '{"outcome":"rolled-back"}')
  writeFileSync(join(folder, `${coming}.json`), '{"result":"done","cost":1}')
  writeFileSync(join(folder, `${draft}.json.0.part`), '{"result":"do')
  const client = createClient({ url, transport: nodeTransport() })
  const ends = openCallEnds({ client, runtimeToken: () => 'token', folder, clock: systemClock, log: silentLog })
  opened.defer(() => ends.close())
  ends.add(newId(4), { result: 'failed', code: 'unavailable', hasEffect: true })
  await expect.poll(() => readdirSync(folder)).toEqual([`${later}.json`])
  expect(taken).toHaveLength(2)
  expect(taken).toEqual(expect.arrayContaining([{ result: 'done' }, { result: 'failed', code: 'unavailable' }]))
})

test('an end that a proxy refuses with a page of its own is reported again', async () => {
  await using opened = new AsyncDisposableStack()
  const taken: unknown[] = []
  const { url } = opened.use(
    await openControlPlane((body, response) => {
      taken.push(body)
      if (taken.length === 1) response.writeHead(400, { 'content-type': 'text/html' }).end('<h1>Bad Request</h1>')
      else response.writeHead(204).end()
    }),
  )
  const folder = mkdtempSync(join(tmpdir(), 'windlass-call-ends-'))
  opened.defer(() => rmSync(folder, { recursive: true }))
  const client = createClient({ url, transport: nodeTransport() })
  const ends = openCallEnds({ client, runtimeToken: () => 'token', folder, clock: systemClock, log: silentLog })
  opened.defer(() => ends.close())
  const end = { result: 'failed', code: 'unavailable', hasEffect: true } as const
  ends.add(newId(1), end)
  await expect.poll(() => readdirSync(folder)).toEqual([])
  expect(taken).toEqual([end, end])
})
