import { PromotionPolicyInput } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { resolvePolicy, type NamedPolicy } from './policy.ts'

function policy(name: string, given: object): NamedPolicy {
  return { ...PromotionPolicyInput.parse(given), name }
}

const TARGET = { product: 'shop', environment: 'production', kind: 'PROD' } as const
const ALL = policy('all', { priority: 300, policy: { action: 'commit', preAction: 'ops/scan', postAction: 'ops/tell' } })
const PROD = policy('prod', { priority: 20, selector: { targetEnvironment: { types: ['PROD'] } }, policy: { action: 'pr' } })
const SHOP = policy('shop', {
  priority: 10,
  selector: { product: { names: ['shop'] }, targetEnvironment: { names: ['production'] } },
  policy: { postAction: 'shop/smoke' },
})
const OTHER = policy('other', { priority: 1, selector: { product: { names: ['other'] } }, policy: { action: 'none' } })

test('each attribute comes from the matching policy with the smallest number that has it (O068)', () => {
  const cases: readonly (readonly [string, Parameters<typeof resolvePolicy>, object])[] = [
    ['no policy', [TARGET, undefined, []], { action: 'commit' }],
    ['one for all', [TARGET, undefined, [ALL]], { action: 'commit', preAction: 'ops/scan', postAction: 'ops/tell' }],
    [
      'three that match',
      [TARGET, undefined, [ALL, PROD, SHOP, OTHER]],
      { action: 'pr', preAction: 'ops/scan', postAction: 'shop/smoke' },
    ],
    [
      'in any order',
      [TARGET, undefined, [SHOP, OTHER, ALL, PROD]],
      { action: 'pr', preAction: 'ops/scan', postAction: 'shop/smoke' },
    ],
    [
      'another kind of environment',
      [{ ...TARGET, environment: 'staging', kind: 'NON_PROD' }, undefined, [ALL, PROD, SHOP]],
      { action: 'commit', preAction: 'ops/scan', postAction: 'ops/tell' },
    ],
    ['another product', [{ ...TARGET, product: 'other' }, undefined, [PROD, SHOP, OTHER]], { action: 'none' }],
    [
      'the step itself first',
      [TARGET, { action: 'none' }, [ALL, PROD, SHOP]],
      { action: 'none', preAction: 'ops/scan', postAction: 'shop/smoke' },
    ],
  ]
  for (const [name, args, expected] of cases) expect(resolvePolicy(...args), name).toEqual(expected)
})

test('equal numbers are decided by the name, so that the result does not depend on the order', () => {
  const [a, b] = [policy('a', { policy: { action: 'pr' } }), policy('b', { policy: { action: 'none' } })]
  expect(resolvePolicy(TARGET, undefined, [a, b])).toEqual(resolvePolicy(TARGET, undefined, [b, a]))
  expect(resolvePolicy(TARGET, undefined, [b, a])).toEqual({ action: 'pr' })
})
