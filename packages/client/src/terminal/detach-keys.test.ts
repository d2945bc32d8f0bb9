import { expect, test } from 'vitest'
import { DetachKeys } from './detach-keys.ts'

function press(...chunks: string[]): { text: string; isDetached: boolean } {
  const keys = new DetachKeys()
  let text = ''
  for (const chunk of chunks) {
    const pressed = keys.push(Buffer.from(chunk))
    text += Buffer.from(pressed.keys).toString()
    if (pressed.isDetached) return { text, isDetached: true }
  }
  return { text, isDetached: false }
}

test('Ctrl-P Ctrl-Q detaches, in one chunk or two, and is not passed on', () => {
  expect(press('ls\r\u0010\u0011')).toEqual({ text: 'ls\r', isDetached: true })
  expect(press('ls', '\u0010', '\u0011')).toEqual({ text: 'ls', isDetached: true })
})

test('`~.` detaches only at the start of a line', () => {
  expect(press('~.')).toEqual({ text: '', isDetached: true })
  expect(press('ls\r', '~', '.')).toEqual({ text: 'ls\r', isDetached: true })
  expect(press('cd ~/x\r~/bin/run ~.')).toEqual({ text: 'cd ~/x\r~/bin/run ~.', isDetached: false })
})

test('passes on all other keys, including Ctrl-C and Ctrl-P with another key', () => {
  expect(press('\u0003\u0010', 'x\u001B[A')).toEqual({ text: '\u0003\u0010x\u001B[A', isDetached: false })
})

test('works again after the user has detached and returned', () => {
  const keys = new DetachKeys()
  expect(keys.push(Buffer.from('\u0010\u0011')).isDetached).toBe(true)
  expect(keys.push(Buffer.from('\u0011x'))).toEqual({ keys: Uint8Array.from([0x11, 0x78]), isDetached: false })
})
