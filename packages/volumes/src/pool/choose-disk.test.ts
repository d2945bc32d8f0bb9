import type { DiskRequest } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { chooseDisks, refusalOf } from './choose-disk.ts'
import { isSchedulable } from './placement.ts'
import { storageBytes, Volume } from './volume.ts'

interface Disk {
  readonly labels?: Record<string, string>
  readonly annotations?: Record<string, string>
  readonly phase?: string
  readonly size?: string
  readonly policy?: string
  readonly claimRef?: object
}

function volume(name: string, disk: Disk = {}): Volume {
  return Volume.parse({
    metadata: { name, resourceVersion: '1', labels: { account: 'acme', ...disk.labels }, annotations: disk.annotations ?? {} },
    spec: {
      capacity: { storage: disk.size ?? '16Gi' },
      storageClassName: 'disks',
      persistentVolumeReclaimPolicy: disk.policy ?? 'Retain',
      ...(disk.claimRef && { claimRef: disk.claimRef }),
    },
    status: { phase: disk.phase ?? 'Released' },
  })
}

const request: DiskRequest = {
  storageClassName: 'disks',
  sizeBytes: 16 * 2 ** 30,
  selector: ['account'],
  sortOrder: ['pipeline', 'trigger'],
  labels: { account: 'acme', pipeline: 'p1', trigger: 't1' },
  reset: false,
}
const names = (volumes: readonly Volume[], changes: Partial<DiskRequest> = {}): string[] =>
  chooseDisks(volumes, { ...request, ...changes }, Date.parse('2026-01-10')).map(({ metadata }) => metadata.name)
const used = (at: string, mounts = 1): Record<string, string> => ({
  'codefresh.io/lastUsedTimestamp': at,
  'codefresh.io/mount-count': String(mounts),
})

test('reuses only disks whose selector labels are all equal (R197, R198, R199, R200, R253)', () => {
  const disks = [volume('same', { labels: { pipeline: 'p1' } }), volume('other', { labels: { pipeline: 'p2' } }), volume('none')]
  expect(names(disks)).toEqual(['same', 'other', 'none'])
  expect(names(disks, { selector: ['account', 'pipeline'] })).toEqual(['same'])
  expect(names([volume('foreign', { labels: { account: 'evil' } })])).toEqual([])
})

test('ranks by the keys of the sort order from left to right, then by last use, then by number of uses (R201)', () => {
  const disks = [
    volume('old', { annotations: used('2026-01-01T00:00:00Z', 9) }),
    volume('new', { annotations: used('2026-02-01T00:00:00Z') }),
    volume('often', { annotations: used('2026-02-01T00:00:00Z', 5) }),
    volume('trigger', { labels: { trigger: 't1' } }),
    volume('pipeline', { labels: { pipeline: 'p1' } }),
    volume('both', { labels: { pipeline: 'p1', trigger: 't1' } }),
  ]
  expect(names(disks)).toEqual(['both', 'pipeline', 'trigger', 'often', 'new', 'old'])
})

test('never chooses a disk that is in use, failed, too small or to be deleted (R202)', () => {
  const refused = [
    volume('bound', { phase: 'Bound' }),
    volume('failed', { phase: 'Failed' }),
    volume('small', { size: '10Gi' }),
    volume('delete', { policy: 'Delete' }),
    volume('requested', { annotations: { node_requested_deletion: 'node1' } }),
    volume('reserved', { phase: 'Available', claimRef: { name: 'x', namespace: 'y' } }),
  ]
  expect(names(refused)).toEqual([])
  expect(names([volume('available', { phase: 'Available' })])).toEqual(['available'])
})

test.each([
  ['16Gi', 17_179_869_184],
  ['15G', 15_000_000_000],
  ['1.5Ki', 1536],
  ['100', 100],
  ['much', 0],
])('parses %s as %d bytes', (text, bytes) => {
  expect(storageBytes(text)).toBe(bytes)
})

test('treats a cordoned or unready node as not schedulable', () => {
  const node = (spec: object, ready: string): object => ({ spec, status: { conditions: [{ type: 'Ready', status: ready }] } })
  const object = (parts: object): Parameters<typeof isSchedulable>[0] => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    ...parts,
  })
  expect(isSchedulable(object(node({}, 'True')))).toBe(true)
  expect(isSchedulable(object(node({ unschedulable: true }, 'True')))).toBe(false)
  expect(isSchedulable(object(node({}, 'Unknown')))).toBe(false)
})

test('gives a kept disk only to its build until its time is over (P078)', () => {
  const kept = (until: string): Volume =>
    volume('kept', { annotations: { 'windlass.io/last-build': 'b1', 'windlass.io/kept-until': until } })
  const free = volume('free', { annotations: used('2026-01-09T00:00:00Z', 5) })
  expect(names([kept('2026-01-11T00:00:00Z'), free], { builds: ['b2'] })).toEqual(['free'])
  expect(names([free, kept('2026-01-11T00:00:00Z')], { builds: ['b1'] })).toEqual(['kept', 'free'])
  expect(names([free, kept('2026-01-09T00:00:00Z')], { builds: ['b2'] })).toEqual(['free', 'kept'])
})

test('prefers the disk that the build, or the one that it repeats, used last', () => {
  const of = (build: string): Volume => volume(build, { annotations: { 'windlass.io/last-build': build } })
  expect(names([of('b1'), of('b2'), of('b3')], { builds: ['b9', 'b2'] })[0]).toBe('b2')
})

test('calls a disk whose claim is not confirmed yet in use, not to be deleted (R202)', () => {
  const disk = volume('new', { annotations: { 'windlass.io/unconfirmed': 'true' } })
  expect(refusalOf(disk, request, 0)).toBe('used')
  expect(refusalOf(volume('doomed', { policy: 'Delete' }), request, 0)).toBe('doomed')
})
