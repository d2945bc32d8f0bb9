import { expect, test } from 'vitest'
import { hasSecrets, maskDocument, maskStoredDocument, stringifyMasked, unstoredSecrets } from './mask-document.ts'

const STEPS = '  steps:\n    a: { type: codefresh-run, arguments: { variables: [{ key: A, value: open, encrypted: true }] } }\n'
const pipeline = (spec: string): string => `kind: pipeline\nmetadata: {name: a/b}\nspec:\n${spec}${STEPS}`

test('masks the values of encrypted variables in all spellings, and keeps the rest of the document', () => {
  const document = pipeline(`  variables:
    - {key: OWN, value: s3cret, encrypted: true} # comment
    - {key: OPEN, value: seen}
  triggers:
    - name: push
      variables:
        - {key: A, value: s3cret, encrypted: true}
        - {encrypted: 'True', value: "s3cret", key: B}
        - key: C
          value: |
            s3cret
            s3cret
          encrypted: "yes"
        - {key: D, value: [s3cret, {a: s3cret}], encrypted: 1}
        - {key: E, value: '*****', encrypted: on}
        - {key: F, value: seen, encrypted: false}
        - {key: G, value: "", encrypted: true}
        - {key: H, value: s3cret, encrypted: '\${{X}}'}
        - {key: I, value: s3cret, encrypted: tru}
        - {key: J, value: seen, encrypted: }
  cronTriggers:
    - {name: nightly, options: {more: {value: s3cret, encrypted: true}}}
`)
  const masked = maskDocument(document, [{ value: 's3cret', encrypted: true }])
  expect(masked).toBe(
    document
      .replace('s3cret', "'*****'")
      .replace('{key: A, value: s3cret,', "{key: A, value: '',")
      .replace('"s3cret"', "''")
      .replace('|\n            s3cret\n            s3cret\n', "''\n")
      .replace('[s3cret, {a: s3cret}]', "''")
      .replace("{key: E, value: '*****'", "{key: E, value: ''")
      .replace('{key: H, value: s3cret', "{key: H, value: ''")
      .replace('{key: I, value: s3cret', "{key: I, value: ''")
      .replace('{value: s3cret', "{value: ''"),
  )
  expect(maskDocument(masked, [{ value: '*****', encrypted: true }])).toBe(masked)
  expect(maskStoredDocument(document)).toBe(masked)
})

test.each([
  ['a list', '  variables: &all [{key: A, value: s3cret, encrypted: true}]\n  triggers: [{name: t, variables: *all}]\n'],
  [
    'a value',
    '  variables: [{key: A, value: &one s3cret, encrypted: true}]\n  triggers: [{variables: [{key: B, value: *one, encrypted: true}]}]\n',
  ],
  ['an open value', '  indicators: [&one s3cret]\n  triggers: [{variables: [{key: B, value: *one, encrypted: true}]}]\n'],
  [
    'a merged value',
    '  indicators: [&one {value: s3cret}]\n  cronTriggers: [{variables: [{<<: *one, key: B, encrypted: true}]}]\n',
  ],
])('masks %s behind an alias, or rejects the document', (_what, spec) => {
  const document = pipeline(spec)
  let masked = ''
  try {
    masked = maskDocument(document, [])
  } catch (error) {
    expect(error).toMatchObject({ code: 'request-invalid', message: expect.stringContaining('alias') })
  }
  expect(masked).not.toContain('s3cret')
  expect(maskStoredDocument(document)).not.toContain('s3cret')
  // The mask of a pipeline variable keeps the stored value, also if a trigger repeats it.
  if (spec.startsWith('  variables')) expect(maskDocument(masked, [{ value: '*****', encrypted: true }])).toBe(masked)
})

test('does not change documents of other kinds and documents without secrets', () => {
  for (const document of [
    STEPS,
    `version: '1.0'\n${STEPS.slice(2)}`,
    pipeline(
      '  triggers: [{name: t, variables: [{key: A, value: b}]}]\n  variablesSchema: {properties: {value: {type: string}, encrypted: {type: boolean}}}\n',
    ),
  ])
    expect([maskDocument(document, []), maskStoredDocument(document)]).toEqual([document, document])
})

test('warns about each value that is not stored', () => {
  const text = pipeline(`  variables: [{key: OWN, value: a, encrypted: true}]
  triggers:
    - variables:
        - {key: B, value: s3cret, encrypted: true}
  cronTriggers: [{variables: [{key: C, value: '', encrypted: true}]}]
`)
  const warnings = unstoredSecrets({ text, file: 'p.yml' })
  expect(warnings.map(({ line, column, path, message }) => [line, column, path, message])).toEqual([
    [7, 27, 'spec.triggers[0].variables[0]', 'the encrypted variable "B" is not stored, because it is not in "spec.variables"'],
    [
      8,
      47,
      'spec.cronTriggers[0].variables[0]',
      'the encrypted variable "C" is not stored, because it is not in "spec.variables"',
    ],
  ])
  expect(JSON.stringify(warnings)).not.toContain('s3cret')
})

test('finds and masks secrets in plain data', () => {
  const variables = [{ key: 'A', value: 's3cret', encrypted: 'true' }]
  expect(JSON.parse(stringifyMasked({ kept: { triggers: [{ variables }] } }))).toEqual({
    kept: { triggers: [{ variables: [{ key: 'A', value: '', encrypted: 'true' }] }] },
  })
  expect(hasSecrets({ kind: 'pipelin', spec: { variables } })).toBe(true)
  expect(hasSecrets({ kind: 'pipeline', spec: { variables: [{ key: 'A', value: 's3cret', encrypted: 'tru' }] } })).toBe(true)
  expect(hasSecrets({ kind: 'pipeline', spec: { variables: [{ key: 'A', value: 'seen', encrypted: 'no' }] } })).toBe(false)
  expect(hasSecrets({ kind: 'pipeline', spec: { steps: { a: { arguments: { variables } } } } })).toBe(false)
  expect(hasSecrets({ kind: 'pipeline', spec: { variables: [{ key: 'A', value: '*****', encrypted: true }] } })).toBe(false)
})
