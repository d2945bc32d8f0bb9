/** Ends of calls at a control plane of another version. */
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
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

test('a server that does not know that a call had an effect gets the rest, and files of another version stay', async () => {
  await using opened = new AsyncDisposableStack()
  const taken: unknown[] = []
  const server = createServer((request, response) => {
    const answer = (body: unknown): void => {
      const isKnown = typeof body === 'object' && body !== null && !('hasEffect' in body)
      if (isKnown) taken.push(body)
      response.writeHead(isKnown ? 204 : 400, { 'content-type': 'application/problem+json' })
      response.end(isKnown ? undefined : JSON.stringify(REFUSAL))
    }
    json(request).then(answer, () => response.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  opened.defer(() => void server.close())
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
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
