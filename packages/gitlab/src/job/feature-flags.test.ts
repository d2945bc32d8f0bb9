import { expect, test } from 'vitest'
import { featureFlags, FLAGS, flagsLine, unknownFlags } from './feature-flags.ts'

const job = (values: Readonly<Record<string, string>>) => ({
  variables: Object.entries(values).map(([key, value]) => ({ key, value })),
})

test('the configuration comes before the job, the job before `environment`, and that before the default', () => {
  const runner = {
    feature_flags: { FF_TIMESTAMPS: false },
    environment: ['FF_TIMESTAMPS=true', 'FF_HASH_CACHE_KEYS=true', 'FF_KUBERNETES_HONOR_ENTRYPOINT=1'],
  }
  expect(featureFlags(runner, job({ FF_TIMESTAMPS: 'true', FF_HASH_CACHE_KEYS: 'false' }))).toEqual({
    ...FLAGS,
    FF_TIMESTAMPS: false,
    FF_HASH_CACHE_KEYS: false,
    FF_KUBERNETES_HONOR_ENTRYPOINT: true,
  })
  expect(featureFlags({}, job({}))).toEqual(FLAGS)
})

test('a value that is neither true nor false is the default', () => {
  expect(featureFlags({}, job({ FF_TIMESTAMPS: 'perhaps', FF_MASK_ALL_DEFAULT_TOKENS: '' }))).toMatchObject({
    FF_TIMESTAMPS: true,
    FF_MASK_ALL_DEFAULT_TOKENS: false,
  })
})

test('a runner without a job has the flags of its configuration only', () => {
  const runner = { feature_flags: { FF_HASH_CACHE_KEYS: true }, environment: ['FF_TIMESTAMPS=false'] }
  expect(featureFlags(runner)).toEqual({ ...FLAGS, FF_HASH_CACHE_KEYS: true })
})

test('flags without an effect are named once, and flags with another value than their default are in the log', () => {
  expect(unknownFlags(['FF_USE_FASTZIP', 'CI', 'FF_TIMESTAMPS', 'FF_USE_FASTZIP'])).toEqual(['FF_USE_FASTZIP'])
  expect(flagsLine(featureFlags({}))).toBeUndefined()
  expect(flagsLine(featureFlags({ feature_flags: { FF_TIMESTAMPS: false } }))).toBe('  feature flags: FF_TIMESTAMPS:false')
})
