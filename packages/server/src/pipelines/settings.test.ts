import { compile, hasErrors } from '@windlass/pipeline'
import { expect, test } from 'vitest'
import { maskDocument } from './mask-document.ts'
import { readSettings } from './settings.ts'

const REST = `metadata: {name: team/app}
spec:
  variables: [{key: PASSWORD, value: s3cret, encrypted: true}]
  steps: {one: {image: alpine}}
`
const PIPELINES = [
  'kind: pipeline\n',
  '\uFEFFkind: pipeline\n',
  '\uFEFF# comment\nkind: pipeline\n',
  '&a kind: pipeline\n',
  '!!str kind: pipeline\n',
  '? kind\n: pipeline\n',
  '"\\x6bind": pipeline\n',
  '"\\u006bind": pipeline\n',
  '"\\U0000006bind": pipeline\n',
  "'kind' : pipeline\n",
  '--- # start\nkind: pipeline\n',
  '# comment\r\nkind: pipeline\r\n',
]
const OTHERS = [
  "version: '1.0'\nsteps: {kind: {image: alpine}}\n",
  "version: '1.0'\nsteps: {one: {image: alpine, commands: ['echo kind: pipeline']}}\n",
  'version: "1.0"\nsteps: {one: {image: alpine, commands: ["echo \\x6bind"]}}\n',
]

test.each(PIPELINES)('reads the settings of a document that the compiler takes for a pipeline: %j', (kind) => {
  const text = kind + REST
  const { plan, problems } = compile({ text, file: '' })
  expect([plan?.steps.map(({ name }) => name), hasErrors(problems)]).toEqual([['one'], false])
  const written = readSettings(text, '')
  expect(written).toMatchObject({ name: 'team/app', variables: [{ key: 'PASSWORD', value: 's3cret', encrypted: true }] })
  expect(maskDocument(text, written?.variables ?? [])).toBe(text.replace('s3cret', "'*****'"))
})

test.each(OTHERS)('reads no settings of an inline document: %j', (text) => {
  expect(compile({ text, file: '' }).plan?.steps).toHaveLength(1)
  expect(readSettings(text, '')).toBeUndefined()
})
