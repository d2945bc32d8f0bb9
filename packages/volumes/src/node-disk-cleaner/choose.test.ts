import { describe, expect, test } from 'vitest'
import { byLastUse, isDue, isOver } from './choose.ts'
import { nodeDiskCleanerConfig } from './config.ts'
import type { DiskFolder } from './folders.ts'
import { metricsText } from './metrics.ts'

function folder(name: string, fields: Partial<DiskFolder> = {}): DiskFolder {
  return { path: `/disks/${name}`, createdAt: undefined, lastUsedAt: undefined, deletedAt: undefined, mounts: 0, ...fields }
}

test.each([
  ['79 % does not reach 80 (V10)', { kb: 79, inodes: 0 }, false],
  ['80 % does (V10)', { kb: 80, inodes: 0 }, true],
  ['inodes have their own limit (R116)', { kb: 1, inodes: 80 }, true],
])('%s', (_, use, over) => {
  expect(isOver(use, { kb: 80, inodes: 80 })).toBe(over)
})

test('ranks by last use, unknown ones last, without marked ones (R116)', () => {
  const folders = [
    folder('silent'),
    folder('new', { lastUsedAt: 30 }),
    folder('old', { lastUsedAt: 10, createdAt: 9 }),
    folder('made', { createdAt: 20 }),
    folder('marked', { lastUsedAt: 1, deletedAt: 5 }),
  ]
  expect(byLastUse(folders).map(({ path }) => path)).toEqual(['old', 'made', 'new', 'silent'].map((name) => `/disks/${name}`))
})

test('treats a mark as due after the grace period, not at its last second (V11)', () => {
  const marked = folder('marked', { deletedAt: 1000 })
  expect([1900, 1901].map((now) => isDue(marked, 900, now))).toEqual([false, true])
  expect(isDue(folder('unmarked'), 0, 9e9)).toBe(false)
})

describe('settings', () => {
  test('accepts the names of the Codefresh DaemonSet and prefers ours (R116)', () => {
    const codefresh = {
      NODE_NAME: 'n1',
      VOLUME_PARENT_DIR: '/disks/',
      KB_USAGE_THRESHOLD: '70',
      DRY_RUN: 'true',
      LOG_DF_EVERY: '5',
    }
    expect(nodeDiskCleanerConfig(codefresh)).toMatchObject({
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
    expect(nodeDiskCleanerConfig({ ...codefresh, WINDLASS_LOCAL_MONITOR_KB_THRESHOLD: '60' }).KB_THRESHOLD).toBe(60)
  })

  test.each([
    { NODE_NAME: 'n', KB_USAGE_THRESHOLD: '0' },
    { NODE_NAME: 'n', VOLUME_PARENT_DIR: 'disks' },
    { NODE_NAME: 'n', VOLUME_DIR_PATTERN: '../*' },
    { NODE_NAME: 'n', VOLUME_DIR_PATTERN: '*' },
    {},
  ])('refuses %o', (env) => {
    expect(() => nodeDiskCleanerConfig(env)).toThrow(expect.objectContaining({ code: 'config-invalid' }))
  })
})

test('reports every disk in the metrics; an unmarked disk has no time of its mark (R119)', () => {
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
