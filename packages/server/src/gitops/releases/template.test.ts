import { PromotionTemplateInput } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { templateOf, type NamedTemplate } from './template.ts'

const template = (name: string, given: object): NamedTemplate => ({ ...PromotionTemplateInput.parse(given), name })
const versionSource = (file: string): object => ({ versionSource: { file, jsonPath: '$.version' } })

test('the template of the product counts, then the one that selects the application with the smallest number, then all files', () => {
  const templates = [
    template('helm', {
      applicationSourceSelector: { matchLabels: { type: 'helm' } },
      priority: 5,
      ...versionSource('Chart.yaml'),
    }),
    template('any', {
      applicationSourceSelector: { matchExpressions: [{ key: 'type', operator: 'Exists' }] },
      ...versionSource('version.json'),
    }),
    template('not-old', {
      applicationSourceSelector: { matchExpressions: [{ key: 'type', operator: 'NotIn', values: ['old', 'helm', 'plain'] }] },
      priority: 1,
      ...versionSource('new.yaml'),
    }),
    template('empty', { applicationSourceSelector: {}, priority: 0, ...versionSource('never.yaml') }),
  ]
  const inline = { promotion: { 'values.yaml': { jsonPaths: ['$.tag'] } } }
  expect(templateOf({ promotionTemplate: inline }, templates, { type: 'helm' })).toBe(inline)
  expect(templateOf({ promotionTemplateRef: 'any' }, templates, {})).toMatchObject({ name: 'any' })
  expect(templateOf({ promotionTemplateRef: 'absent' }, templates, {})).toBeUndefined()
  expect(templateOf({}, templates, { type: 'helm' })).toMatchObject({ name: 'helm' })
  expect(templateOf({}, templates, { type: 'plain' })).toMatchObject({ name: 'any' })
  expect(templateOf({}, templates, { type: 'new' })).toMatchObject({ name: 'not-old' })
  expect(templateOf({}, templates.slice(0, 2), {})).toEqual({ promotion: {} })
})
