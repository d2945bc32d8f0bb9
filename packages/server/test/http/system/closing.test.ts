/** Calls that reach a server while it stops. */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openHttp } from '../../../src/http/http-server.ts'
import { ok, route } from '../../../src/http/route.ts'
import { openAuthenticator } from '../../../src/identity/authenticate.ts'
import { openHttpScene } from '../../support/http-scene.ts'

test('a call that arrives on an open connection while the server stops is answered, and then the connection ends', async () => {
  await using scene = await openHttpScene()
  const { app } = scene.server
  let begun = 0
  const gate = Promise.withResolvers<void>()
  const held = route('GET', '/held', {
    summary: 'Return after the gate opens',
    allow: 'public',
    scope: 'none',
    replies: { 200: z.object({ isDone: z.boolean() }) },
    async handle() {
      begun += 1
      await gate.promise
      return ok({ isDone: true })
    },
  })
  const http = openHttp(app, { routes: [held], authenticator: openAuthenticator(app.store.query, app.vault) })
  const { port, hostname } = new URL(await http.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect(Number(port), hostname)
  const call = `GET /held HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`
  socket.write(call)
  await expect.poll(() => begun).toBe(1)
  const closed = http.close()
  await expect.poll(() => http.server.listening).toBe(false)
  socket.write(call)
  await expect.poll(() => begun).toBe(2)
  gate.resolve()
  const answers = (await text(socket)).split(/(?=HTTP\/1\.1 )/)
  expect(answers.map((answer) => answer.split('\r\n')[0])).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK'])
  expect(answers[1]?.toLowerCase()).toContain('connection: close')
  await closed
})
