/** The shared configuration repository of an account, as clients see it. */
import { expect, test } from 'vitest'
import { openHttpScene } from '../../support/http-scene.ts'

test('admins choose and forget the shared repository, and the first choice counts (O030)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  expect(await admin.gitopsSettings.get()).toEqual({})
  const chosen = await admin.gitopsSettings.put({ sharedRepository: 'https://git.example.com/acme/gitops?ref=main' })
  expect(chosen).toEqual({
    sharedRepository: 'https://git.example.com/acme/gitops.git?ref=main',
    changedBy: expect.any(String),
    changedAt: expect.any(Number),
  })
  expect(await admin.gitopsSettings.get()).toEqual(chosen)
  await expect(admin.gitopsSettings.put({ sharedRepository: 'https://git.example.com/acme/other.git' })).rejects.toMatchObject({
    code: 'conflict',
  })
  for (const sharedRepository of ['git@git.example.com:acme/gitops.git', 'https://ann:secret@git.example.com/a/b.git', ''])
    await expect(admin.gitopsSettings.put({ sharedRepository })).rejects.toMatchObject({ code: 'request-invalid' })
  await admin.gitopsSettings.reset()
  expect(await admin.gitopsSettings.get()).toEqual({})
})
