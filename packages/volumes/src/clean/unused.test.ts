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
    ['R111, V12: a disk unused for five days is deleted', disk(5 * DAY), 'remove'],
    ['R111: one unused for three days is kept', disk(3 * DAY), 'used-lately'],
    ['R111: and at four days to the second', disk(4 * DAY), 'used-lately'],
    ['V12, R114: five days unused with 7d', disk(5 * DAY, { retention: '7d' }), 'used-lately'],
    ['R114: eight days unused with 7d', disk(8 * DAY, { retention: '7d' }), 'remove'],
    ['R114: 13 hours unused with 12h', disk(13 * HOUR, { retention: '12h' }), 'remove'],
    ['a retention that nobody can read keeps the disk', disk(99 * DAY, { retention: 'a week' }), 'retention-unreadable'],
    ['V13: a bound disk', disk(99 * DAY, { phase: 'Bound' }), 'in-use'],
    ['a disk that failed is for people to look at', disk(99 * DAY, { phase: 'Failed' }), 'in-use'],
    ['a disk that was never claimed counts from when it was made', disk(5 * DAY, { phase: 'Available' }), 'remove'],
    ['R113: a disk of another provisioner', disk(99 * DAY, { provisionedBy: 'ebs.csi.aws.com' }), 'of-another-provisioner'],
    ['R113: a disk of nobody', disk(99 * DAY, { provisionedBy: undefined }), 'of-another-provisioner'],
    ['a disk on a node', disk(99 * DAY, { isLocal: true }), 'local'],
    ['a disk that waits for approval with its build', disk(99 * DAY, { keptUntil: NOW + 1 }), 'kept-for-a-build'],
    ['a disk whose build no longer waits', disk(99 * DAY, { keptUntil: NOW - 1 }), 'remove'],
    ['a disk that is going already', disk(99 * DAY, { isDoomed: true }), 'doomed'],
    ['a disk of unknown age', disk(0, { lastUsedAt: 0 }), 'of-unknown-age'],
    ['a disk that was used in the future: a clock is wrong', disk(-DAY), 'used-lately'],
  ])('%s: %o', (_, one, verdict) => {
    expect(judgeDisk(one, normal, NOW)).toBe(verdict)
  })
})

describe('mode -m', () => {
  test.each([
    ['R112, V14: used 25 h ago by two builds', disk(25 * HOUR, { mounts: 2 }), 'remove'],
    ['R112, V14: used 25 h ago by three builds', disk(25 * HOUR, { mounts: 3 }), 'used-often'],
    ['R112: used a day ago by one build', disk(DAY, { mounts: 1 }), 'used-lately'],
    ['R114: a retention of its own holds here too', disk(25 * HOUR, { mounts: 1, retention: '7d' }), 'used-lately'],
    ['V13: a bound disk', disk(25 * HOUR, { mounts: 1, phase: 'Bound' }), 'in-use'],
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
])('R114: the retention %s is %s ms', (text, ms) => {
  expect(retentionMs(text)).toBe(ms)
})
