import { expect, test } from 'vitest'
import { isFault } from '@windlass/kit'
import { FEATURES, mergeLabels, runnerInfo } from './info.ts'

test('sends all features as booleans, and only those as true that the runner implements (G006)', () => {
  const info = runnerInfo({ version: '1.2.3', revision: 'abcd1234', labels: { zone: 'a-1' } })
  expect(info).toMatchObject({
    version: '1.2.3',
    revision: 'abcd1234',
    executor: 'kubernetes',
    shell: 'bash',
    config: { gpus: '' },
    labels: { zone: 'a-1' },
  })
  const off = Object.entries(FEATURES).flatMap(([name, value]) => (value ? [] : [name]))
  expect(off.toSorted()).toEqual(
    ['session', 'terminal', 'proxy', 'native_steps_integration', 'job_inputs', 'shared', 'service_executor_opts'].toSorted(),
  )
  expect(Object.keys(FEATURES)).toHaveLength(31)
  expect(runnerInfo()).not.toHaveProperty('labels')
  expect(runnerInfo({ hasTerminals: true }).features).toMatchObject({ session: true, terminal: true, proxy: false })
})

test('labels of the entry replace those of the configuration', () => {
  expect(mergeLabels({ zone: 'a', team: 'ci' }, { zone: 'b' })).toEqual({ zone: 'b', team: 'ci' })
})

test('names all labels that are not valid', () => {
  const check = (): unknown => mergeLabels({ ok: 'two-characters', zone: 'not valid' }, { '.dot': 'x' })
  expect(check).toThrow('The labels of the runner are not valid.')
  try {
    check()
  } catch (error) {
    expect(isFault(error) && error.details.problems?.map(({ path }) => path)).toEqual(['labels.ok', 'labels.zone', 'labels..dot'])
  }
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`label-${n}`, 'x']))
  expect(() => mergeLabels(many, {})).toThrow('not valid')
})
