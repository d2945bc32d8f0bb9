import { expect, test } from 'vitest'
import { completeSpec, RuntimeInput, RuntimeLayerInput, RuntimeSpec } from './runtime.ts'

test('a runtime environment needs no more than a name', () => {
  const runtime = RuntimeInput.parse({ name: 'prod' })
  expect(runtime.spec).toEqual({})
  expect(completeSpec(runtime.spec).dockerDaemonScheduler.pvcs.dind.volumeSize).toBe('16Gi')
})

test('a key that does not exist is named with its place, not dropped', () => {
  const { error } = RuntimeInput.safeParse({
    name: 'prod',
    spec: { spec: {}, runtimeScheduler: { cluster: { nameSpace: 'x' } } },
  })
  const told = error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  expect(told).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^spec: .*"spec"/),
      expect.stringMatching(/^spec\.runtimeScheduler\.cluster: .*"nameSpace"/),
    ]),
  )
})

test('what a newer server adds to a runtime is read past', () => {
  expect(RuntimeSpec.parse({ addedLater: true, limits: { addedLater: 1 } }).limits.retries).toBe(2)
})

test('P182: variables of every step have a value, or a key of the cluster, and nothing else', () => {
  const parse = (...userEnvVars: object[]) => RuntimeLayerInput.safeParse({ runtimeScheduler: { userEnvVars } }).success
  expect(parse({ name: 'A', value: '1' }, { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } })).toBe(true)
  expect(parse({ name: 'A' })).toBe(false)
  expect(parse({ name: 'A', value: '1', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } })).toBe(false)
  expect(parse({ name: 'A', valueFrom: { fieldRef: { fieldPath: 'x' } } })).toBe(false)
  expect(parse({ name: 'A=B', value: '1' })).toBe(false)
})
