import { Validator } from '@cfworker/json-schema'
import { expect, test } from 'vitest'
import { STEP_TYPES } from './language.ts'
import { EXACT_VARIABLE_PATTERN, flagFields, stepSchemas, VARIABLE_PATTERN } from './step-schemas.ts'

test('every step type has a JSON Schema of its own', () => {
  const schemas = stepSchemas()
  expect(Object.keys(schemas)).toEqual(Object.keys(STEP_TYPES))
  const valid = (type: string, step: unknown): boolean => new Validator({ ...schemas[type] }, '2020-12').validate(step).valid
  expect(valid('push', { type: 'push', candidate: 'x' })).toBe(true)
  expect(valid('push', { type: 'push', dockerfile: 'x' })).toBe(false)
  expect(valid('build', { type: 'build', image_name: 'x', buildx: { qemu: { platforms: 'all' } } })).toBe(true)
  expect(valid('integration-test', { type: 'integration-test', test: { image: 'x', commands: ['a'] } })).toBe(true)
  expect(valid('parallel', { type: 'parallel', steps: { a: { image: 'x' } } })).toBe(true)
  expect(valid('parallel', { type: 'parallel', steps: { a: { type: 'push' } } })).toBe(false)
})

test('fields that are booleans or variables are listed, in both spellings', () => {
  const { root, common, types } = flagFields()
  expect(root).toEqual(expect.arrayContaining(['strict_fail_fast', 'fail_fast']))
  expect(common).toEqual(expect.arrayContaining(['fail_fast', 'strict_fail_fast']))
  expect(types['build']?.toSorted()).toEqual(
    ['no_cache', 'no_cf_cache', 'squash', 'buildkit', 'disable_push', 'cosign.sign', 'buildx'].toSorted(),
  )
  expect(types['git-clone']).toEqual(['use_proxy', 'exclude_blobs', 'skip_tags_on_update'])
  expect(flagFields('camel').types['git-clone']).toEqual(['useProxy', 'excludeBlobs', 'skipTagsOnUpdate'])
  expect(flagFields('camel').types['build']).toContain('cosign.sign')
})

test('variables are found anywhere in a text, or as the whole of it', () => {
  expect(VARIABLE_PATTERN.exec('a ${{B}} ${{C}}')?.[1]).toBe('B')
  for (const text of ['${{}}', '$X', '{{X}}']) expect(VARIABLE_PATTERN.test(text)).toBe(false)
  expect(EXACT_VARIABLE_PATTERN.exec('${{steps.a.result}}')?.[1]).toBe('steps.a.result')
  for (const text of ['a ${{B}}', '${{B}}${{C}}', '${{}}']) expect(EXACT_VARIABLE_PATTERN.test(text)).toBe(false)
})
