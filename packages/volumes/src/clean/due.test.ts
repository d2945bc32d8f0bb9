import { describe, expect, test } from 'vitest'
import { dueReason, isTooFull } from './due.ts'
import { readDiskFacts } from './facts.ts'
import { readCleanSettings } from './settings.ts'

const { settings } = readCleanSettings({})
const NOW = 1_800_000_000
const calm = { usage: { disk: 0.5, inodes: 0.1 }, cleanedAt: NOW - 60, buildsSince: 1 }

describe('when a build ends', () => {
  test.each([
    ['few builds, half a disk and a recent clean-up (V16)', {}, undefined],
    ['a second before the period is over (R103)', { cleanedAt: NOW - 21_599 }, undefined],
    ['CLEAN_PERIOD_SECONDS are over (R103)', { cleanedAt: NOW - 21_600 }, 'period'],
    ['the fifth build on a disk (R104)', { buildsSince: 4 }, undefined],
    ['the sixth build, five after the last clean-up (R104, V15)', { buildsSince: 5 }, 'builds'],
    ['a disk at its threshold (R107)', { usage: { disk: 0.8, inodes: 0 } }, undefined],
    ['a disk beyond its threshold (R107)', { usage: { disk: 0.81, inodes: 0 } }, 'disk'],
    ['inodes beyond their own threshold (R108)', { usage: { disk: 0, inodes: 0.81 } }, 'inodes'],
    ['the first build on a disk', { cleanedAt: undefined, buildsSince: 9 }, undefined],
  ])('%s: %o is %s', (_, change, reason) => {
    expect(dueReason({ ...calm, ...change }, settings, NOW)).toBe(reason)
  })

  test('keeps the thresholds of inodes and of the disk apart (R108)', () => {
    const own = readCleanSettings({ DISK_USAGE_THRESHOLD: '0.2' }).settings
    expect(dueReason({ ...calm, usage: { disk: 0.1, inodes: 0.5 } }, own, NOW)).toBeUndefined()
    expect(dueReason({ ...calm, usage: { disk: 0.3, inodes: 0.5 } }, own, NOW)).toBe('disk')
  })

  test.each(['false', 'FALSE', '0', 'no', 'off'])('removes nothing with CLEAN_DOCKER=%s', (value) => {
    const off = readCleanSettings({ CLEAN_DOCKER: value }).settings
    expect(dueReason({ ...calm, buildsSince: 99, usage: { disk: 1, inodes: 1 } }, off, NOW)).toBeUndefined()
  })
})

test('is too full during a build beyond 90 %, or beyond the settings for disk and inodes (V18)', () => {
  const own = readCleanSettings({ CLEANER_AGENT_INODES_USAGE_THRESHOLD: '0.5' }).settings
  const usage = (disk: number, inodes: number) => ({ disk, inodes })
  expect([usage(0.9, 0.9), usage(0.91, 0), usage(0, 0.91)].map((one) => isTooFull(one, settings))).toEqual([false, true, true])
  expect([usage(0.9, 0.5), usage(0, 0.51)].map((one) => isTooFull(one, own))).toEqual([false, true])
})

test('has the documented defaults, and names and ignores an invalid setting', () => {
  expect(settings).toMatchObject({
    enabled: true,
    watch: true,
    dryRun: false,
    periodSeconds: 21_600,
    periodBuilds: 5,
    imageRetainSeconds: 14_400,
    volumesRetainSeconds: 14_400,
    diskThreshold: 0.8,
    inodesThreshold: 0.8,
  })
  const { settings: read, ignored } = readCleanSettings({
    DISK_USAGE_THRESHOLD: '80',
    CLEAN_PERIOD_BUILDS: 'x',
    CLEANER_DRY_RUN: '1',
  })
  expect([read.diskThreshold, read.periodBuilds, read.dryRun]).toEqual([0.8, 5, true])
  expect(ignored).toEqual(['CLEAN_PERIOD_BUILDS', 'DISK_USAGE_THRESHOLD'])
})

test('reads from the line of the daemon how full the disk is, as df counts it, and its settings', () => {
  const line =
    '/dind-volume/kb_total=1000/kb_used=855/kb_free=95/inodes_used=1/inodes_free=3/pod=dind-1/cleaned_at=1700000000/builds_since=4/left_over=1/CLEAN_PERIOD_BUILDS=7/PATH=x'
  expect(readDiskFacts(line)).toEqual({
    usage: { disk: 0.9, inodes: 0.25 },
    totalBytes: 1_024_000,
    pod: 'dind-1',
    cleanedAt: 1_700_000_000,
    buildsSince: 4,
    leftOver: true,
    variables: { CLEAN_PERIOD_BUILDS: '7' },
  })
  expect(readDiskFacts('kb_total=1000/kb_used=0/kb_free=1000')).toMatchObject({
    usage: { disk: 0, inodes: 0 },
    cleanedAt: undefined,
  })
  expect(readDiskFacts('/some/link')).toBeUndefined()
  const before = readDiskFacts(line)
  expect(readDiskFacts('kb_total=1/kb_used=1/kb_free=0', before)).toEqual({ ...before, usage: { disk: 1, inodes: 0 } })
})
