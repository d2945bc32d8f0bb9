import { expect, test } from 'vitest'
import { parseStreamTopic, STREAM_EVENTS, StreamQuery } from './stream.ts'

const BUILD = '0123456789abcdef01234567'
const OTHER = 'fedcba9876543210fedcba98'

test('parses each kind of topic, with the colons of a step name', () => {
  expect(parseStreamTopic('account')).toEqual({ kind: 'account', key: 'account' })
  expect(parseStreamTopic(`build:${BUILD}:17`)).toEqual({ kind: 'build', key: `build:${BUILD}`, build: BUILD, position: 17 })
  expect(parseStreamTopic(`log:${BUILD}:2:step/a:5:99`)).toEqual({
    kind: 'log',
    key: `log:${BUILD}:2:step/a:5`,
    build: BUILD,
    attempt: 2,
    stream: 'step/a:5',
    position: 99,
  })
  expect(parseStreamTopic(`terminal:${BUILD}:${OTHER}:3`)).toEqual({
    kind: 'terminal',
    key: `terminal:${BUILD}:${OTHER}`,
    build: BUILD,
    terminal: OTHER,
    position: 3,
  })
})

test.each([
  '',
  'accounts',
  'build:7:0',
  `build:${BUILD}:-1`,
  `log:${BUILD}:1:step/a`,
  `log:${BUILD}:1:other:0`,
  `terminal:${BUILD}:3`,
])('refuses the topic "%s"', (topic) => {
  expect(parseStreamTopic(topic)).toBeUndefined()
  expect(StreamQuery.safeParse({ topic }).success).toBe(false)
})

test('a query has 1 to 32 topics, each once', () => {
  const many = Array.from({ length: 33 }, (_, n) => `build:${BUILD}:${n}`)
  expect(StreamQuery.parse({ topic: 'account' }).topic).toEqual(['account'])
  expect(StreamQuery.parse({ topic: ['account', 'account', many[0]] }).topic).toEqual(['account', many[0]])
  expect(StreamQuery.safeParse({ topic: many }).success).toBe(false)
  expect(StreamQuery.safeParse({ topic: [] }).success).toBe(false)
  expect(StreamQuery.safeParse({}).success).toBe(false)
})

test('the data of an event names its topic, except that of the first', () => {
  const without = Object.entries(STREAM_EVENTS).filter(([, shape]) => !('topic' in shape.shape))
  expect(without.map(([name]) => name)).toEqual(['open'])
})
