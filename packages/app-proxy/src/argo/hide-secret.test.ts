import { expect, test } from 'vitest'
import { hideSecret } from './hide-secret.ts'

test('values of a Secret are hidden, and what Argo CD wrote instead of them stays', () => {
  const state = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'db',
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"password":"hunter2"}', team: 'shop' },
    },
    data: { password: 'aHVudGVyMg==', user: '++++++++' },
    stringData: { url: 'postgres://hunter2', port: 5432 },
  }
  const hidden = hideSecret(state)
  expect(hidden).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'db', annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '(hidden)', team: 'shop' } },
    data: { password: '(hidden)', user: '++++++++' },
    stringData: { url: '(hidden)', port: '(hidden)' },
  })
  expect(JSON.stringify(hidden)).not.toMatch(/hunter2|aHVudGVyMg|5432/)
  expect(hideSecret({ ...state, data: 'aHVudGVyMg==' })).toMatchObject({ data: '(hidden)' })
})

test('other objects stay as they are', () => {
  for (const state of [
    { apiVersion: 'v1', kind: 'ConfigMap', data: { password: 'shown' } },
    { apiVersion: 'bitnami.com/v1alpha1', kind: 'Secret', data: { password: 'shown' } },
  ])
    expect(hideSecret(state)).toBe(state)
})
