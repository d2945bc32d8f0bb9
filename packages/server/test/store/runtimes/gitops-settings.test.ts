/** The shared configuration repository of an account in the store. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chooseSharedRepository, readGitopsSettings, resetGitopsSettings } from '../../../src/gitops/settings.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const FIRST = 'https://git.example.com/acme/gitops.git'
const SECOND = 'https://git.example.com/acme/other.git'

describe.each(DATABASES)('settings for GitOps on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('the first choice counts until it is reset, also for choices at once', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const read = (): ReturnType<typeof readGitopsSettings> => readGitopsSettings(app.store.query, app.accountId)
    const choose = (sharedRepository: string, by = 'mira'): ReturnType<typeof chooseSharedRepository> =>
      chooseSharedRepository(app, { sharedRepository, by })
    expect(await read()).toEqual({})
    const ends = await Promise.allSettled([choose(FIRST), choose(SECOND)])
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const { sharedRepository = '' } = await read()
    // The same one again, by another user, changes nothing.
    expect(await choose(sharedRepository, 'ben')).toMatchObject({ sharedRepository, changedBy: 'mira' })
    const other = sharedRepository === FIRST ? SECOND : FIRST
    await expect(choose(other)).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining(sharedRepository) })
    await resetGitopsSettings(app)
    await resetGitopsSettings(app)
    expect(await read()).toEqual({})
    expect(await choose(other)).toMatchObject({ sharedRepository: other, changedAt: expect.any(Number) })
  })
})
