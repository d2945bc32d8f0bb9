import { expect, test } from 'vitest'
import type { LogAddition } from './log-lines.ts'
import { openLogWindow } from './log-window.ts'

const step = { key: 's000000', name: 'build', createdAt: 5 }
const add = (...texts: string[]): LogAddition[] => [
  { step, isNew: true, lines: texts.map((text) => ({ key: `l00000000${text}`, text })) },
]

test('a window without lines is null, because an empty node does not exist for clients', () => {
  expect(openLogWindow().toNode(true)).toBeNull()
})

test('a window keeps the last lines and marks where others are left out', () => {
  const window = openLogWindow(3)
  window.add(add('1', '2', '3'))
  expect(window.toNode(true)).toEqual({
    s000000: { name: 'build', creationTimeStamp: 5, logs: { l000000001: '1', l000000002: '2', l000000003: '3' } },
  })
  window.add(add('4', '5'))
  expect(window.toNode(false)?.['s000000']?.logs).toEqual({ l000000003: '3', l000000004: '4', l000000005: '5' })
  expect(Object.keys(window.toNode(true)?.['s000000']?.logs ?? {})).toEqual([
    'l000000000',
    'l000000003',
    'l000000004',
    'l000000005',
  ])
})

test('a single line that is too long is kept', () => {
  const window = openLogWindow(3)
  window.add([{ step, isNew: true, lines: [{ key: 'l000000001', text: 'long line' }] }])
  expect(window.toNode(true)).toEqual({ s000000: { name: 'build', creationTimeStamp: 5, logs: { l000000001: 'long line' } } })
})
