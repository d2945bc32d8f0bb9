import { expect, test } from 'vitest'
import { redact } from './run-step.ts'

const SECRET = 'swordfish'.repeat(10)
const output = { redact: (text: string) => text.replaceAll(SECRET, '*****') }

test('shortens and masks a message and its hint', () => {
  // The secret is at the position of the cut.
  const message = `${'x'.repeat(3_990)}${SECRET}${' '.repeat(100_000)}y`
  const redacted = redact({ status: 'error', message, hint: 'Look there', members: {}, exports: [] }, output)
  expect(redacted.message).toMatch(/^x{3990}\*{5} +…$/)
  expect(redacted.message?.length).toBeLessThan(4_010)
  expect(redacted.hint).toBe('Look there.')
})

test('marks values that contain a secret and keeps them for later steps', () => {
  const redacted = redact(
    {
      status: 'success',
      members: { imageName: 'app', url: `https://robot:${SECRET}@example.com` },
      exports: [
        { name: 'DSN', value: `postgres://x:${SECRET}@db`, secret: false },
        { name: 'PLAIN', value: 'x', secret: false },
        { name: 'OWN', value: 'x', secret: true },
      ],
      outputs: { token: SECRET, masked: 'y', plain: 'x' },
      sealed: { outputs: ['masked'] },
    },
    output,
  )
  expect(redacted.exports.map(({ name, secret }) => [name, secret])).toEqual([
    ['DSN', true],
    ['PLAIN', false],
    ['OWN', true],
  ])
  expect(redacted.exports[0]?.value).toContain(SECRET)
  expect(redacted.sealed).toEqual({ members: ['url'], outputs: ['token', 'masked'] })
})
