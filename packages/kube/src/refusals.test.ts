import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { silentLog } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openKube } from './index.ts'

/** Looks up a pod at a server that gives this answer to every call. */
async function findPod(status: number, body: string, credentials: { hint?: string } = {}): Promise<unknown> {
  const server = createServer((_, response) => response.writeHead(status).end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const access = { server: `http://127.0.0.1:${port}`, insecure: false, namespace: 'ci', ...credentials }
  const kube = openKube({ access, log: silentLog })
  try {
    return await kube.find({ kind: 'Pod', namespace: 'ci', name: 'engine' })
  } finally {
    kube.close()
    server.closeAllConnections()
    server.close()
  }
}

test('treats an object as gone if the API server says so', async () => {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404, message: 'no such pod' }
  expect(await findPod(404, JSON.stringify(status))).toBeUndefined()
  expect(await findPod(404, '404 page not found\n')).toBeUndefined()
})

test.each(['', '<html>default backend - 404</html>', '{"error":"no route"}'])(
  'does not treat an object as gone if something in front of the API server answers 404: %j',
  async (body) => {
    await expect(findPod(404, body)).rejects.toMatchObject({ code: 'cluster-unreachable' })
  },
)

test('a refused login has the hint of the credentials, not that of an answer of Kubernetes', async () => {
  const body = JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'Unauthorized',
    code: 401,
    message: 'Unauthorized',
  })
  await expect(findPod(401, body, { hint: 'Log in again.' })).rejects.toMatchObject({
    message: expect.stringContaining('does not accept the credentials: Unauthorized.'),
    hint: 'Log in again.',
  })
})
