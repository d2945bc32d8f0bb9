import { expect, test } from 'vitest'
import { answerFrame, helloFrame, mergeFrame, readFrame, valueFrame } from './frames.ts'

test('reads what clients of logs send', () => {
  expect(readFrame('0')).toEqual({ kind: 'keep-alive' })
  expect(readFrame('{"t":"c","d":{"t":"p","d":{}}}')).toEqual({ kind: 'ping' })
  expect(readFrame('{"t":"d","d":{"r":2,"a":"auth","b":{"cred":"token"}}}')).toEqual({
    kind: 'request',
    id: 2,
    action: 'auth',
    path: '',
    credential: 'token',
  })
  expect(readFrame('{"t":"d","d":{"r":3,"a":"q","b":{"p":"/api/logs/1/steps","h":""}}}')).toMatchObject({
    action: 'q',
    path: 'api/logs/1/steps',
  })
  expect(readFrame('{"t":"d","d":{"r":1,"a":"s","b":{"c":{"sdk.js.2-4-2":1}}}}')).toMatchObject({ action: 's' })
})

test.each([
  '',
  '3',
  'x',
  '[]',
  '{"t":"d"}',
  '{"t":"d","d":{"a":"q"}}',
  '{"t":"d","d":{"r":"1","a":"q"}}',
  '{"t":"x","d":{"t":"p"}}',
])('does not read %j', (text) => {
  expect(readFrame(text)).toBeUndefined()
})

test('writes the frames of the protocol', () => {
  expect(helloFrame('ci.example.com', 's1', 5)).toBe('{"t":"c","d":{"t":"h","d":{"ts":5,"v":"5","h":"ci.example.com","s":"s1"}}}')
  expect(answerFrame(3, 'ok')).toBe('{"t":"d","d":{"r":3,"b":{"s":"ok","d":{}}}}')
  expect(valueFrame('a/b', null)).toBe('{"t":"d","d":{"a":"d","b":{"p":"a/b","d":null}}}')
  expect(mergeFrame('a', { l1: 'x' })).toBe('{"t":"d","d":{"a":"m","b":{"p":"a","d":{"l1":"x"}}}}')
})
