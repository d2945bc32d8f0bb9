import { expect, test } from 'vitest'
import { describeDelivery, lookOfDelivery } from './outcome.ts'

const NOTHING = { status: 'processed', builds: [], repeats: 0 } as const

test.each([
  [{ ...NOTHING, builds: ['a', 'b'] }, 'Built', 'Started 2 builds.'],
  [{ ...NOTHING, reason: 'branch', message: '"dev" does not match main.' }, 'No build', '"dev" does not match main.'],
  [{ ...NOTHING, reason: 'event-unsupported' }, 'No build', 'The event starts no builds, for example a ping.'],
  [{ ...NOTHING, status: 'received' }, 'In progress', 'The server is processing it.'],
  [
    { ...NOTHING, status: 'refused', reason: 'signature-wrong', repeats: 3 },
    'Refused',
    'The signature or the token of the delivery does not belong to the webhook. The same happened 3 times more.',
  ],
  [{ ...NOTHING, builds: ['a'], repeats: 1 }, 'Built', 'Started 1 build. The same call came once more and built nothing.'],
] as const)('%j is %s: %s', (delivery, word, sentence) => {
  expect(lookOfDelivery(delivery).word).toBe(word)
  expect(describeDelivery(delivery)).toBe(sentence)
})
