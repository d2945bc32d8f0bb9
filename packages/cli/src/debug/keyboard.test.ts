import { expect, test } from 'vitest'
import { LeaveKeys } from './keyboard.ts'

function press(...pieces: string[]): { text: string; isLeft: boolean } {
  const keys = new LeaveKeys()
  let text = ''
  for (const piece of pieces) {
    const pressed = keys.push(Buffer.from(piece))
    text += pressed.keys.toString()
    if (pressed.isLeft) return { text, isLeft: true }
  }
  return { text, isLeft: false }
}

test('Ctrl-P Ctrl-Q leaves, in one piece or in two, and nothing of it is passed on', () => {
  expect(press('ls\r\u0010\u0011')).toEqual({ text: 'ls\r', isLeft: true })
  expect(press('ls', '\u0010', '\u0011')).toEqual({ text: 'ls', isLeft: true })
})

test('a tilde and a dot leave at the beginning of a line only', () => {
  expect(press('~.')).toEqual({ text: '', isLeft: true })
  expect(press('ls\r', '~', '.')).toEqual({ text: 'ls\r', isLeft: true })
  expect(press('cd ~/x\r~/bin/run ~.')).toEqual({ text: 'cd ~/x\r~/bin/run ~.', isLeft: false })
})

test('all other keys go through, Ctrl-C and Ctrl-P with another key among them', () => {
  expect(press('\u0003\u0010', 'x\u001B[A')).toEqual({ text: '\u0003\u0010x\u001B[A', isLeft: false })
})
