import { expect, test } from 'vitest'
import { argoApplication } from '../../../test/support/fakes/application-reporter.ts'
import { ApplicationManifest } from './manifest.ts'

test('lists are cut before their items are validated', () => {
  const valid = Array.from({ length: 5_000 }, (_, n) => ({ kind: 'Pod', name: `pod-${n}` }))
  const wrong = Array.from({ length: 200_000 }, () => ({ kind: 5 }))
  const conditions = [...Array.from({ length: 100 }, () => ({ type: 'Warning' })), 'nonsense']
  const given = argoApplication('shop', { status: { resources: [...valid, ...wrong], conditions } })
  const { status } = ApplicationManifest.parse(given)
  expect(status.resources).toHaveLength(5_000)
  expect(status.conditions).toHaveLength(100)
  for (const resources of [null, undefined])
    expect(ApplicationManifest.parse(argoApplication('shop', { status: { resources } })).status.resources).toEqual([])
  const refused = ApplicationManifest.safeParse(argoApplication('shop', { status: { resources: ['nonsense'] } }))
  expect(refused.error?.issues).toMatchObject([{ path: ['status', 'resources', 0] }])
})
