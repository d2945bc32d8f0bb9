import { expect, test } from 'vitest'
import { completeSpec, RuntimeInput, RuntimeLayerInput, RuntimeSpec } from './runtime.ts'

test('a runtime environment requires only a name', () => {
  const runtime = RuntimeInput.parse({ name: 'prod' })
  expect(runtime.spec).toEqual({})
  expect(completeSpec(runtime.spec).dockerDaemonScheduler.pvcs.dind.volumeSize).toBe('16Gi')
})

test('rejects an unknown key with its path', () => {
  const { error } = RuntimeInput.safeParse({
    name: 'prod',
    spec: { spec: {}, runtimeScheduler: { cluster: { nameSpace: 'x' } } },
  })
  const messages = error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  expect(messages).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^spec: .*"spec"/),
      expect.stringMatching(/^spec\.runtimeScheduler\.cluster: .*"nameSpace"/),
    ]),
  )
})

test('ignores fields that a newer server added to a runtime', () => {
  expect(RuntimeSpec.parse({ addedLater: true, limits: { addedLater: 1 } }).limits.retries).toBe(2)
})

test('user variables have either a value or a reference to a key (P182)', () => {
  const parse = (...userEnvVars: object[]) => RuntimeLayerInput.safeParse({ runtimeScheduler: { userEnvVars } }).success
  expect(parse({ name: 'A', value: '1' }, { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } })).toBe(true)
  expect(parse({ name: 'A' })).toBe(false)
  expect(parse({ name: 'A', value: '1', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } })).toBe(false)
  expect(parse({ name: 'A', valueFrom: { fieldRef: { fieldPath: 'x' } } })).toBe(false)
  expect(parse({ name: 'A=B', value: '1' })).toBe(false)
})
