import { expect, test } from 'vitest'
import { chooseSubprotocol, decodeInput, encodeOutput } from './subprotocol.ts'

test('the first subprotocol of the client that is known is chosen', () => {
  expect(chooseSubprotocol('terminal.gitlab.com, base64.terminal.gitlab.com')).toBe('terminal.gitlab.com')
  expect(chooseSubprotocol('channel.k8s.io,base64.terminal.gitlab.com')).toBe('base64.terminal.gitlab.com')
  for (const header of [undefined, '', 'channel.k8s.io']) expect(chooseSubprotocol(header)).toBeUndefined()
})

test('each subprotocol has its own kind of messages, and bytes stay what they are', () => {
  const bytes = Buffer.from([0, 0xff, 0xe2, 0x82])
  const text = Buffer.from(bytes.toString('base64'))
  expect(decodeInput('terminal.gitlab.com', { data: bytes, isBinary: true })).toEqual(bytes)
  expect(decodeInput('terminal.gitlab.com', { data: bytes, isBinary: false })).toBeUndefined()
  expect(decodeInput('base64.terminal.gitlab.com', { data: text, isBinary: false })).toEqual(bytes)
  expect(decodeInput('base64.terminal.gitlab.com', { data: text, isBinary: true })).toBeUndefined()
  expect(decodeInput('base64.terminal.gitlab.com', { data: Buffer.from('ls -l'), isBinary: false })).toBeUndefined()
  expect(encodeOutput('terminal.gitlab.com', bytes)).toEqual(bytes)
  expect(encodeOutput('base64.terminal.gitlab.com', bytes)).toBe('AP/igg==')
})
