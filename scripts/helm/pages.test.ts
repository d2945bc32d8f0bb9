import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { chartFiles, documentedKeys, rulesTemplate, schemaOf } from './pages.ts'

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

test('a chart that takes the values of another one accepts keys of that, texts for numbers, and null', () => {
  const { properties, ...rest } = schemaOf('windlass-gitlab-runner', `${SOURCE}concurrent: 10\nreplicas: 1\n`)
  expect(rest).toEqual({ type: 'object' })
  expect(properties).toMatchObject({
    concurrent: { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'string' }, { type: 'null' }] },
    replicas: { type: ['integer', 'string', 'null'] },
    top: { type: ['object', 'null'] },
  })
})

test.each([
  ['rules', 'role.yaml'],
  ['namespaceRules', 'namespace-per-job.yaml'],
])('the template "%s" of a GitLab runner has the rules of the file for installations without the chart', (name, file) => {
  const template = readFileSync(join(root, 'charts/windlass-gitlab-runner/templates/_rules.tpl'), 'utf8')
  const [, text = ''] = template.split(`{{- define "gitlab-runner.${name}" -}}\n`)
  const role: unknown = parse(readFileSync(join(root, 'packages/gitlab/rbac', file), 'utf8'))
  expect(role).toMatchObject({ rules: parse(text.split('{{- end -}}')[0] ?? '') })
  expect(readFileSync(join(root, 'charts/windlass-gitlab-runner/templates/_rbac.tpl'), 'utf8')).toContain(
    `include "gitlab-runner.${name}"`,
  )
  expect(rulesTemplate('x', 'file', [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }])).toContain(
    '- apiGroups: [""]\n  resources: ["pods"]',
  )
})
