import { expect, test } from 'vitest'
import { hashPassword, isOutdated, passwordMatches } from './password.ts'

/** Argon2id of `password` with the salt `somesaltsomesalt`, from the reference implementation's parameters m=64, t=1, p=1. */
const CHEAP = '$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$'

test('matches only the password that was hashed, with a new salt each time', async () => {
  const [one, other] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')])
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  expect(one).not.toBe(other)
  expect(await Promise.all([one, other].map((hash) => passwordMatches('correct horse', hash)))).toEqual([true, true])
  expect(await passwordMatches('correct horsE', one)).toBe(false)
  expect(await passwordMatches('', one)).toBe(false)
})

test('matches a password that is typed with other code points for the same letters', async () => {
  expect(await passwordMatches('caf\u0065\u0301 au lait', await hashPassword('café au lait'))).toBe(true)
})

test('nothing matches a missing hash, and the check takes as long as with one', async () => {
  const stored = await hashPassword('correct horse')
  // Processor time of all threads, because others share the processor.
  const timeOf = async (hash: string | undefined): Promise<number> => {
    const before = process.cpuUsage()
    expect(await passwordMatches('wrong', hash)).toBe(false)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const times: { known: number; unknown: number }[] = []
  // One after the other, so that the load of the machine affects both.
  for (let n = 0; n < 7; n += 1) times.push({ known: await timeOf(stored), unknown: await timeOf(undefined) })
  const [known = 0, unknown = 0] = (['known', 'unknown'] as const).map(
    (which) => times.map((each) => each[which]).toSorted((a, b) => a - b)[3],
  )
  expect(unknown).toBeGreaterThan(known / 3)
  expect(unknown).toBeLessThan(known * 3)
})

test('checks hashes with other parameters, and reports them as outdated', async () => {
  const old = `${CHEAP}${Buffer.alloc(32).toString('base64').replaceAll('=', '')}`
  expect(await passwordMatches('password', old)).toBe(false)
  expect([isOutdated(old), isOutdated(await hashPassword('x'))]).toEqual([true, false])
  await expect(passwordMatches('password', 'plain')).rejects.toThrow('PHC')
})

test('refuses hashes when too many wait for their turn', async () => {
  const stored = `${CHEAP}${Buffer.alloc(32).toString('base64').replaceAll('=', '')}`
  const results = await Promise.allSettled(Array.from({ length: 60 }, () => passwordMatches('x', stored)))
  const refused = results.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(8)
  expect(refused[0]).toMatchObject({ reason: { code: 'rate-limited', retryable: true } })
})
