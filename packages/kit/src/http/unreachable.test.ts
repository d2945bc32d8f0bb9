import { expect, test } from 'vitest'
import { fault } from '../faults.ts'
import { explainUnreachable, isLoopback } from './unreachable.ts'

test.each([
  ['http://127.0.0.1:7400', true],
  ['http://localhost', true],
  ['http://[::1]:7400', true],
  ['http://0.0.0.0:7400', true],
  ['http://windlass.localhost:7400', true],
  ['http://localhost.:7400', true],
  ['http://windlass.localhost.', true],
  ['http://127.0.0.1.:7400', true],
  ['http://[::ffff:127.0.0.1]:7400', true],
  ['http://[::ffff:127.255.255.254]', true],
  ['http://[::ffff:0.0.0.0]:7400', true],
  ['http://10.0.0.5:7400', false],
  ['http://[::ffff:10.0.0.5]:7400', false],
  ['http://127.example.com', false],
  ['https://localhost.example.com', false],
  ['not a URL', false],
])('%s is a loopback address: %s', (url, expected) => {
  expect(isLoopback(url)).toBe(expected)
})

function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

test('the cause is found inside a fault and an aggregate error', () => {
  const refused = systemError('ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.5:7400')
  const both = new AggregateError([refused, refused])
  const error = fault('server-unreachable', { message: 'The server cannot be reached.' }, both)
  expect(explainUnreachable(error, 'http://10.0.0.5:7400').cause).toBe('connection refused by 10.0.0.5:7400')
})

test('an error of a certificate is told without the advice of Node about its command line', () => {
  const advice = 'if the root CA is installed locally, try running Node.js with --use-system-ca'
  const unknown = systemError('UNABLE_TO_VERIFY_LEAF_SIGNATURE', `unable to verify the first certificate; ${advice}`)
  expect(explainUnreachable(unknown, 'https://10.0.0.5').cause).toBe(
    'TLS: unable to verify the first certificate (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
  )
})

test('the hint for a refused loopback address names the pod', () => {
  const refused = systemError('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:7400')
  expect(explainUnreachable(refused, 'http://127.0.0.1:7400').hint).toContain('A loopback address is the pod itself')
})

test('an unknown error keeps its message', () => {
  expect(explainUnreachable(new Error('something new'), 'http://10.0.0.5').cause).toBe('something new')
})
