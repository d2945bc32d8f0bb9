import { describe, expect, test } from 'vitest'
import { judgeDisk, retentionMs, type UnusedDisk } from './unused.ts'

const NOW = 1_800_000_000_000
const HOUR = 3_600_000
const DAY = 24 * HOUR
const PROVISIONER = 'codefresh.io/dind-volume-provisioner'
const normal = { retentionDays: 4, mountMin: undefined, provisionedBy: PROVISIONER }
const seldom = { ...normal, mountMin: 3 }

function disk(unusedMs: number, fields: Partial<UnusedDisk> = {}): UnusedDisk {
  return {
    phase: 'Released',
    isLocal: false,
    isDoomed: false,
    provisionedBy: PROVISIONER,
    lastUsedAt: NOW - unusedMs,
    mounts: 9,
    keptUntil: undefined,
    retention: undefined,
    ...fields,
  }
}

describe('normal mode', () => {
  test.each([
    ['a disk unused for five days (R111, V12)', disk(5 * DAY), 'remove'],
    ['a disk unused for three days (R111)', disk(3 * DAY), 'used-lately'],
    ['a disk unused for four days to the second (R111)', disk(4 * DAY), 'used-lately'],
    ['five days unused with 7d (V12, R114)', disk(5 * DAY, { retention: '7d' }), 'used-lately'],
    ['eight days unused with 7d (R114)', disk(8 * DAY, { retention: '7d' }), 'remove'],
    ['13 hours unused with 12h (R114)', disk(13 * HOUR, { retention: '12h' }), 'remove'],
    ['a disk with an invalid retention', disk(99 * DAY, { retention: 'a week' }), 'retention-unreadable'],
    ['a bound disk (V13)', disk(99 * DAY, { phase: 'Bound' }), 'in-use'],
    ['a disk that failed', disk(99 * DAY, { phase: 'Failed' }), 'in-use'],
    ['a disk that was never claimed, by its creation', disk(5 * DAY, { phase: 'Available' }), 'remove'],
    ['a disk of another provisioner (R113)', disk(99 * DAY, { provisionedBy: 'ebs.csi.aws.com' }), 'of-another-provisioner'],
    ['a disk without a provisioner (R113)', disk(99 * DAY, { provisionedBy: undefined }), 'of-another-provisioner'],
    ['a disk on a node', disk(99 * DAY, { isLocal: true }), 'local'],
    ['a disk that waits for approval with its build', disk(99 * DAY, { keptUntil: NOW + 1 }), 'kept-for-a-build'],
    ['a disk whose build no longer waits', disk(99 * DAY, { keptUntil: NOW - 1 }), 'remove'],
    ['a disk that is being removed', disk(99 * DAY, { isDoomed: true }), 'doomed'],
    ['a disk of unknown age', disk(0, { lastUsedAt: 0 }), 'of-unknown-age'],
    ['a disk that was used in the future, by a wrong clock', disk(-DAY), 'used-lately'],
  ])('%s: %o', (_, one, verdict) => {
    expect(judgeDisk(one, normal, NOW)).toBe(verdict)
  })
})

describe('mode -m', () => {
  test.each([
    ['used 25 h ago by two builds (R112, V14)', disk(25 * HOUR, { mounts: 2 }), 'remove'],
    ['used 25 h ago by three builds (R112, V14)', disk(25 * HOUR, { mounts: 3 }), 'used-often'],
    ['used a day ago by one build (R112)', disk(DAY, { mounts: 1 }), 'used-lately'],
    ['a disk with its own retention (R114)', disk(25 * HOUR, { mounts: 1, retention: '7d' }), 'used-lately'],
    ['a bound disk (V13)', disk(25 * HOUR, { mounts: 1, phase: 'Bound' }), 'in-use'],
  ])('%s: %o', (_, one, verdict) => {
    expect(judgeDisk(one, seldom, NOW)).toBe(verdict)
  })
})

test.each([
  ['7d', 7 * DAY],
  [' 12 H ', 12 * HOUR],
  ['0.5d', 12 * HOUR],
  ['7', undefined],
  ['-1d', undefined],
  ['7dd', undefined],
  ['', undefined],
])('reads the retention %s as %s ms (R114)', (text, ms) => {
  expect(retentionMs(text)).toBe(ms)
})
