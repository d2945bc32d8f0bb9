import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock, type Clock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { openAsk } from './ask.ts'

test('a call is repeated a few times for what can pass, and not for another answer', async () => {
  const calls: string[] = []
  const pauses: number[] = []
  const clock: Clock = { ...systemClock, sleep: async (ms) => void pauses.push(ms) }
  const answers: Readonly<Record<string, readonly number[]>> = { '/busy': [429, 503, 200], '/missing': [404], '/broken': [] }
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    calls.push(path)
    const status = answers[path]?.[calls.filter((one) => one === path).length - 1] ?? 500
    response.writeHead(status, status === 429 ? { 'retry-after': '7' } : {}).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = openAsk({ caFile: undefined, environment: {}, clock })

  expect(await ask(new URL('/busy', base))).toMatchObject({ status: 200, text: '{}' })
  expect(calls).toEqual(['/busy', '/busy', '/busy'])
  expect(pauses).toEqual([7_000, expect.any(Number)])
  expect(await ask(new URL('/missing', base))).toMatchObject({ status: 404 })
  expect(pauses).toHaveLength(2)
  await expect(ask(new URL('/broken', base))).rejects.toMatchObject({
    code: 'service-unreachable',
    message: expect.stringContaining('answered with status 500'),
  })
  expect(calls.filter((path) => path === '/broken')).toHaveLength(4)

  pauses.length = 0
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  await expect(ask(new URL('/gone', base))).rejects.toMatchObject({ code: 'service-unreachable' })
  expect(pauses).toHaveLength(3)
})
