import { describe, expect, test } from 'vitest'
import { byLastUse, isDue, isOver } from './choose.ts'
import { localMonitorConfig } from './config.ts'
import type { DiskFolder } from './folders.ts'
import { metricsText } from './metrics.ts'

function folder(name: string, fields: Partial<DiskFolder> = {}): DiskFolder {
  return { path: `/disks/${name}`, createdAt: undefined, lastUsedAt: undefined, deletedAt: undefined, mounts: 0, ...fields }
}

test.each([
  ['V10: 79 % is not over 80', { kb: 79, inodes: 0 }, false],
  ['V10: 80 % is', { kb: 80, inodes: 0 }, true],
  ['R116: inodes count by themselves', { kb: 1, inodes: 80 }, true],
])('%s', (_, use, over) => {
  expect(isOver(use, { kb: 80, inodes: 80 })).toBe(over)
})

test('R116: the least recently used disk goes first, those of unknown use last, marked ones not again', () => {
  const folders = [
    folder('silent'),
    folder('new', { lastUsedAt: 30 }),
    folder('old', { lastUsedAt: 10, createdAt: 9 }),
    folder('made', { createdAt: 20 }),
    folder('marked', { lastUsedAt: 1, deletedAt: 5 }),
  ]
  expect(byLastUse(folders).map(({ path }) => path)).toEqual(['old', 'made', 'new', 'silent'].map((name) => `/disks/${name}`))
})

test('V11: a mark is due after the grace, not at its last second', () => {
  const marked = folder('marked', { deletedAt: 1000 })
  expect([1900, 1901].map((now) => isDue(marked, 900, now))).toEqual([false, true])
  expect(isDue(folder('unmarked'), 0, 9e9)).toBe(false)
})

describe('settings', () => {
  test('R116: the names of the original DaemonSet are understood, and ours win', () => {
    const vendor = { NODE_NAME: 'n1', VOLUME_PARENT_DIR: '/disks/', KB_USAGE_THRESHOLD: '70', DRY_RUN: 'true', LOG_DF_EVERY: '5' }
    expect(localMonitorConfig(vendor)).toMatchObject({
      NODE_NAME: 'n1',
      PARENT_DIR: '/disks',
      KB_THRESHOLD: 70,
      INODE_THRESHOLD: 80,
      GRACE_SECONDS: 900,
      INTERVAL_SECONDS: 60,
      LOG_DF_SECONDS: 5,
      DRY_RUN: true,
      DEBUG: false,
    })
    expect(localMonitorConfig({ ...vendor, WINDLASS_LOCAL_MONITOR_KB_THRESHOLD: '60' }).KB_THRESHOLD).toBe(60)
  })

  test.each([
    { NODE_NAME: 'n', KB_USAGE_THRESHOLD: '0' },
    { NODE_NAME: 'n', VOLUME_PARENT_DIR: 'disks' },
    { NODE_NAME: 'n', VOLUME_DIR_PATTERN: '../*' },
    { NODE_NAME: 'n', VOLUME_DIR_PATTERN: '*' },
    {},
  ])('%o is refused', (env) => {
    expect(() => localMonitorConfig(env)).toThrow(expect.objectContaining({ code: 'config-invalid' }))
  })
})

test('R119: the metrics name every disk with what it says of itself; an unmarked disk has no time of its mark', () => {
  const folders = [
    folder('vol-1', { createdAt: 10, lastUsedAt: 20, deletedAt: 30, mounts: 2 }),
    folder('vol-2', { createdAt: 11, mounts: 0 }),
  ]
  const lines = metricsText('node "1"', { folders, use: { kb: 7, inodes: 8 }, removed: 3 }).split('\n')
  const of = (name: string): string[] => lines.filter((line) => line.startsWith(`dind_local_volume_${name}{`))
  const labels = (volume: string): string => `{node_name="node \\"1\\"",volume_path="/disks/${volume}",backend_type="local"}`
  expect(of('creation_time')).toEqual([
    `dind_local_volume_creation_time${labels('vol-1')} 10`,
    `dind_local_volume_creation_time${labels('vol-2')} 11`,
  ])
  expect(of('last_used_time')).toEqual([`dind_local_volume_last_used_time${labels('vol-1')} 20`])
  expect(of('mounts_count')).toEqual([
    `dind_local_volume_mounts_count${labels('vol-1')} 2`,
    `dind_local_volume_mounts_count${labels('vol-2')} 0`,
  ])
  expect(of('deleted_since')).toEqual([`dind_local_volume_deleted_since${labels('vol-1')} 30`])
})
