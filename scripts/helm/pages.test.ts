import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chartFiles, documentedKeys, schemaOf } from './pages.ts'

const root = join(import.meta.dirname, '../..')

test.each(chartFiles())('$path is as the values of its chart say', ({ path, text }) => {
  expect(readFileSync(join(root, path), 'utf8')).toBe(text)
})

const SOURCE = `# A file.
top:
  # -- First thing.
  name: ''
  # -- Free map.
  labels: {}
  # Not for the page.
  inner:
    # -- Second | thing.
    count: 3
  tokenSecretKeyRef: {}
`

test('a comment with two dashes documents the key below it', () => {
  expect(documentedKeys(SOURCE)).toEqual([
    { path: ['top', 'name'], text: 'First thing.' },
    { path: ['top', 'labels'], text: 'Free map.' },
    { path: ['top', 'inner', 'count'], text: 'Second | thing.' },
  ])
})

test('types come from the defaults; the top level takes no key that does not exist', () => {
  expect(schemaOf('windlass', SOURCE)).toMatchObject({
    additionalProperties: false,
    properties: {
      top: {
        properties: {
          name: { type: ['string', 'null'], description: 'First thing.' },
          labels: { type: ['object', 'null'] },
          inner: { properties: { count: { type: 'integer' } } },
          tokenSecretKeyRef: { dependencies: { name: ['key'] } },
        },
      },
    },
  })
})
