import { fault } from '@windlass/kit'
import { expect, test } from 'vitest'
import { createOrAdopt, isBeingDeleted } from './create-or-adopt.ts'
import type { KubeObject } from './objects.ts'

const wanted: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'dind', namespace: 'ci' } }
const existing: KubeObject = { ...wanted, metadata: { ...wanted.metadata, uid: 'old' } }
const leaving: KubeObject = { ...existing, metadata: { ...existing.metadata, deletionTimestamp: '2026-01-01T00:00:30Z' } }

/** Creates an object at a cluster that refuses it for this reason and has `there` under its name. */
async function create(there: KubeObject | undefined, { kubeReason = 'AlreadyExists', isSame = true } = {}): Promise<unknown> {
  const kube = {
    create: async () => Promise.reject(fault('conflict', { message: 'as Kubernetes says', kubeReason })),
    find: async () => there,
  }
  return createOrAdopt(kube, wanted, () => isSame)
}

test('adopts an existing object that is the wanted one', async () => {
  expect(await create(existing)).toEqual({ object: existing, isNew: false })
  await expect(create(existing, { isSame: false })).rejects.toMatchObject({ code: 'conflict', message: 'as Kubernetes says' })
})

test.each([
  ['is being deleted', leaving, true],
  ['is being deleted and belongs to another owner', leaving, false],
  ['was deleted in the meantime', undefined, true],
])('reports an existing object that %s as retriable', async (_, there, isSame) => {
  const error = await create(there, { isSame }).catch((why: unknown) => why)
  expect(error).toMatchObject({ code: 'cluster-unreachable', retryable: true, message: expect.stringContaining('being deleted') })
  expect(isBeingDeleted(error)).toBe(true)
})

test('reports a conflict that is not about an existing object as retriable', async () => {
  const error = await create(undefined, { kubeReason: 'Conflict' }).catch((why: unknown) => why)
  expect(error).toMatchObject({ code: 'cluster-unreachable', retryable: true, message: 'as Kubernetes says' })
  expect(isBeingDeleted(error)).toBe(false)
})
