import { expect, test } from 'vitest'
import { Volume } from '../pool/volume.ts'
import { metricsText } from './metrics.ts'

const volume = (name: string, phase: string): Volume =>
  Volume.parse({
    metadata: {
      name,
      resourceVersion: '1',
      labels: { 'backend-volume-type': 'local', runtime_env: 'ctx/"ns"' },
      annotations: { 'codefresh.io/mount-count': '3', 'codefresh.io/lastUsedTimestamp': '2026-01-01T00:00:10Z' },
    },
    spec: { capacity: { storage: '1Gi' } },
    status: { phase },
  })

test.each([
  ['Pending', 0],
  ['Bound', 1],
  ['Released', 2],
  ['Failed', 3],
  ['Odd', -1],
])('reports the phase %s as %d', (phase, code) => {
  const counts = { reused: 2, created: 1, removed: 0, failed: 0 }
  const text = metricsText({
    volumes: [volume('d1', phase)],
    claims: new Map(),
    counts,
    isLeader: true,
    queues: { claims: { size: 1, failing: 0 } },
  })
  expect(text).toMatch(new RegExp(`dind_volume_phase\\{volume_name="d1",.*runtime_env="ctx/\\\\"ns\\\\"".*\\} ${code}\\n`))
  expect(text).toMatch(/dind_volume_mount_count\{.*\} 3\n/)
  expect(text).toMatch(/dind_volume_last_mount_ts\{.*\} 1767225610\n/)
  expect(text).toContain('windlass_provisioner_disks_total{done="reused"} 2')
  expect(text).not.toMatch(/dind_pvc_volume_phase\{/)
})
