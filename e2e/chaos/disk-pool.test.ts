import { silentLog, systemClock } from '@windlass/kit'
import { openKube } from '@windlass/kube'
import { expect, test } from 'vitest'
import { openDiskPool, type DiskPool } from '../../packages/agent/src/kubernetes/disk.ts'
import { chaosConfig } from './config.ts'
import { openHttpProxy } from './faults/http-proxy.ts'
import { seededRandom } from './faults/random.ts'
import { openVolumeApi } from './faults/volume-api.ts'

const BUILDS = 200
const AT_ONCE = 8

function openPool(url: string): DiskPool {
  const kube = openKube({
    access: { server: url, insecure: false, namespace: 'windlass' },
    log: silentLog,
    qps: 10_000,
    burst: 10_000,
  })
  return openDiskPool({ kube, clock: systemClock, parentDir: '/var/lib/windlass' })
}

test('disk pool: two agents over a network that repeats and cuts calls never give one disk to two builds at once, and reuse disks', async () => {
  const random = seededRandom(chaosConfig.seed)
  await using api = await openVolumeApi()
  await using proxy = await openHttpProxy({
    target: () => ({ port: Number(new URL(api.url).port) }),
    decide: () =>
      random.chance(0.05) ? { kind: 'cut-reply' } : random.chance(0.2) ? { kind: 'repeat', times: 1 } : { kind: 'pass' },
  })
  const pools = [openPool(`http://127.0.0.1:${proxy.port}`), openPool(`http://127.0.0.1:${proxy.port}`)]
  const inUse = new Map<string, string>()
  const shared: string[] = []
  let left = BUILDS
  const runBuilds = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const claim = `dind-${left}`
      const volume = await acquire(random.pick(pools), claim)
      api.bind(claim)
      const other = inUse.get(volume)
      if (other !== undefined) shared.push(`${volume}: ${other} and ${claim}`)
      inUse.set(volume, claim)
      await new Promise((resolve) => setTimeout(resolve, random.between(0, 20)))
      inUse.delete(volume)
      api.release(claim)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runBuilds))
  const counts = `${api.volumes.size} disks for ${BUILDS} builds, ${api.conflicts} conflicts, ${proxy.counts['cut-reply']} replies cut`
  console.log(`disk pool: seed ${chaosConfig.seed}, ${counts}`)
  expect(shared).toEqual([])
  expect(api.volumes.size).toBeLessThan(BUILDS / 4)
  expect(proxy.counts['cut-reply']).toBeGreaterThan(5)
})

/** As the task loop of an agent does: what fails in passing is done again. */
async function acquire(pool: DiskPool, claim: string): Promise<string> {
  const request = {
    storageClassName: 'dind',
    sizeBytes: 1_000_000,
    selector: ['codefresh-app'],
    sortOrder: [],
    labels: { 'codefresh-app': 'dind' },
    reset: false,
  }
  for (;;) {
    try {
      const wish = { request, namespace: 'windlass', claim, pod: `pod-${claim}`, runtime: 'test', capacity: '16Gi' }
      return (await pool.acquire(wish, AbortSignal.timeout(10_000))).volume
    } catch (error) {
      if (!(error instanceof Error) || !/cut|closed|reset|hang up|unreachable|answer/i.test(error.message)) throw error
    }
  }
}
