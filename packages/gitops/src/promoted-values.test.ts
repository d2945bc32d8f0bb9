import { expect, test } from 'vitest'
import { keysOf, promoteValues, readText } from './promoted-values.ts'

const SOURCE = 'image:\n  repository: registry.test/shop\n  tag: "1.10"\nreplicas: 1\nextra:\n  - name: a\n    tag: 2.0.0\n'
const TARGET = '# of production\nimage:\n  tag: "1.9" # set by releases\nreplicas: 5\nextra:\n  - name: b\n    tag: 1.0.0\n'

test('only the named values are copied, and comments, other fields and the quotes of texts stay', () => {
  expect(promoteValues({ path: 'values.yaml', source: SOURCE, target: TARGET }, ['$.image.tag', 'extra[0].tag'])).toEqual({
    text: '# of production\nimage:\n  tag: "1.10" # set by releases\nreplicas: 5\nextra:\n  - name: b\n    tag: 2.0.0\n',
  })
})

test('the same values again are the same text', () => {
  const once = promoteValues({ path: 'values.yaml', source: SOURCE, target: TARGET }, ['$.image.tag'])
  const text = 'text' in once ? once.text : ''
  expect(promoteValues({ path: 'values.yaml', source: SOURCE, target: text }, ['$.image.tag'])).toEqual({ text })
})

test('a value that the target lacks is added, and JSON keeps its indentation', () => {
  const source = '{"image":{"tag":"2"},"a.b":true}'
  expect(promoteValues({ path: 'v.json', source, target: '{\n  "replicas": 3\n}\n' }, ['$.image.tag', "$['a.b']"])).toEqual({
    text: '{\n  "replicas": 3,\n  "image": {\n    "tag": "2"\n  },\n  "a.b": true\n}\n',
  })
})

test('what cannot be copied is said: absent files, absent values, and other forms', () => {
  const problem = (file: { source?: string; target?: string }, path = '$.image.tag'): unknown =>
    promoteValues({ path: 'values.yaml', source: file.source, target: file.target }, [path])
  expect(problem({ target: TARGET })).toMatchObject({ problem: expect.stringContaining('from which') })
  expect(problem({ source: SOURCE })).toMatchObject({ problem: expect.stringContaining('to which') })
  expect(problem({ source: SOURCE, target: TARGET }, '$.image.absent')).toMatchObject({
    problem: expect.stringContaining('no value at'),
  })
  expect(problem({ source: 'a: 1\n---\nb: 2\n', target: TARGET }, '$.a')).toMatchObject({
    problem: expect.stringContaining('one document'),
  })
  expect(problem({ source: SOURCE, target: 'image: text\n' })).toMatchObject({
    problem: expect.stringContaining('something else'),
  })
  expect(promoteValues({ path: 'v.json', source: '{"__proto__":{"a":1}}', target: '{}' }, ['__proto__.a'])).toMatchObject({
    text: '{"__proto__":{"a":1}}',
  })
  expect(Object.hasOwn(Object.prototype, 'a')).toBe(false)
})

test('a version is a text or a number', () => {
  expect(readText({ path: 'values.yaml', text: SOURCE }, '$.image.tag')).toBe('1.10')
  expect(readText({ path: 'values.yaml', text: SOURCE }, 'replicas')).toBe('1')
  expect(readText({ path: 'values.yaml', text: SOURCE }, 'image')).toBeUndefined()
  expect(keysOf("$.spec.images[0]['a.b']")).toEqual(['spec', 'images', 0, 'a.b'])
})

test('a value that aliases make large is refused', () => {
  const source = `text: &text "${'x'.repeat(50_000)}"\nall: [${Array(50).fill('*text').join(', ')}]\n`
  expect(promoteValues({ path: 'values.yaml', source, target: 'all: 1\n' }, ['$.all'])).toEqual({
    problem: 'The value at $.all of the file "values.yaml" has more than 1048576 characters.',
  })
})

test('numbers of JSON keep their text', () => {
  const [source, target] = ['{"tag":1.10}', '{"tag":1.0,"id":12345678901234567890,"part":0.50}']
  expect(promoteValues({ path: 'values.json', source, target }, ['$.tag'])).toEqual({
    text: '{"tag":1.10,"id":12345678901234567890,"part":0.50}',
  })
  expect(readText({ path: 'values.json', text: source }, '$.tag')).toBe('1.10')
  expect(promoteValues({ path: 'values.json', source: '{"a":{"b":1}}', target: '{"a":1.0}' }, ['$.a.b'])).toMatchObject({
    problem: expect.stringContaining('has something else where a value belongs'),
  })
})
