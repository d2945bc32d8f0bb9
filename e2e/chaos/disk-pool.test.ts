import { defined, silentLog, systemClock } from '@windlass/kit'
import { openKube, type Kube, type KubeObject } from '@windlass/kube'
import { expect, test } from 'vitest'
import { hostPathDisks, openDiskPool } from '@windlass/volumes'
import { chaosConfig } from './config.ts'
import { openHttpProxy } from './faults/http-proxy.ts'
import { seededRandom } from './faults/random.ts'
import { openVolumeApi } from './faults/volume-api.ts'

const BUILDS = 200
const AT_ONCE = 8
/** The real controller lags by some milliseconds when idle and by seconds when busy. */
const CONTROLLER_LAG_MS = 15

function openAccess(port: number): Kube {
  const access = { server: `http://127.0.0.1:${port}`, insecure: false, namespace: 'windlass' }
  return openKube({ access, log: silentLog, qps: 10_000, burst: 10_000 })
}

test('disk pool: two agents on an unreliable network never bind one disk to two builds, and they reuse disks', async () => {
  const random = seededRandom(chaosConfig.seed)
  await using api = await openVolumeApi(CONTROLLER_LAG_MS)
  await using proxy = await openHttpProxy({
    target: () => api,
    decide: () =>
      random.chance(0.05) ? { kind: 'cut-reply' } : random.chance(0.2) ? { kind: 'repeat', times: 1 } : { kind: 'pass' },
  })
  const calm = openAccess(api.port)
  const agents = [0, 1].map(() =>
    openDiskPool({ kube: openAccess(proxy.port), clock: systemClock, maker: hostPathDisks('/var/lib/windlass') }),
  )
  const inUse = new Map<string, string>()
  const shared: string[] = []
  let left = BUILDS
  const runBuilds = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const claim = await calm.apply(toClaim(`dind-${left}`), [])
      const { name } = claim.metadata
      const pool = random.pick(agents)
      const { volume } = await untilAnswered(() => pool.bind(toWish(claim), AbortSignal.timeout(120_000)))
      const other = inUse.get(volume)
      if (other !== undefined) shared.push(`${volume}: ${other} and ${name}`)
      inUse.set(volume, name)
      await systemClock.sleep(random.between(0, 20))
      inUse.delete(volume)
      await calm.delete({ kind: 'PersistentVolumeClaim', namespace: 'windlass', name })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runBuilds))
  const counts = `${api.volumes.size} disks for ${BUILDS} builds, ${api.conflicts} conflicts, ${proxy.counts['cut-reply']} replies cut`
  console.log(`disk pool: seed ${chaosConfig.seed}, ${counts}`)
  expect(shared).toEqual([])
  expect(api.volumes.size).toBeLessThan(BUILDS / 4)
  expect(proxy.counts['cut-reply']).toBeGreaterThan(5)
})

test('the disk of a waiting build is reserved for that build until it is released (P078)', async () => {
  await using api = await openVolumeApi(CONTROLLER_LAG_MS)
  const kube = openAccess(api.port)
  const [one, two] = [0, 1].map(() => openDiskPool({ kube, clock: systemClock, maker: hostPathDisks('/var/lib/windlass') }))
  if (one === undefined || two === undefined) throw new Error('two agents')
  const [mine, other] = ['a'.repeat(24), 'b'.repeat(24)]
  let claims = 0
  /** Binds a disk for a build and releases it. `keepMs` keeps it first, as the stop task of a waiting build does. */
  const use = async (pool: typeof one, build: string, keepMs?: number): Promise<string> => {
    claims += 1
    const claim = await kube.apply(toClaim(`kept-${claims}`), [])
    const { volume } = await pool.bind(toWish(claim, build), AbortSignal.timeout(120_000))
    if (keepMs !== undefined) await pool.keep(build, systemClock.now() + keepMs)
    await kube.delete({ kind: 'PersistentVolumeClaim', namespace: 'windlass', name: claim.metadata.name })
    // The controller has noticed that the claim is gone.
    while (api.volumes.get(volume)?.status?.phase !== 'Released') await systemClock.sleep(CONTROLLER_LAG_MS)
    return volume
  }
  const disk = await use(one, mine, 60_000)
  expect(await use(two, other)).not.toBe(disk)
  expect(await use(two, mine, 60_000)).toBe(disk)
  await one.keep(mine, 0)
  expect([...api.volumes.keys()]).toHaveLength(2)
  expect([await use(two, 'c'.repeat(24)), await use(one, 'd'.repeat(24))]).toContain(disk)
})

function toClaim(name: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'windlass' },
    spec: { storageClassName: 'dind', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '16Gi' } } },
  }
}

function toWish(claim: KubeObject, build?: string): Parameters<ReturnType<typeof openDiskPool>['bind']>[0] {
  const labels = { 'codefresh-app': 'dind', ...defined({ 'windlass.io/build': build }) }
  const request = {
    storageClassName: 'dind',
    sizeBytes: 1_000_000,
    selector: ['codefresh-app'],
    sortOrder: [],
    labels,
    reset: false,
    ...(build !== undefined && { builds: [build] }),
  }
  return { request, claim, pod: `pod-${claim.metadata.name}`, runtime: 'test' }
}

/** Retries transient errors, as the task loop of an agent does. */
async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof Error) || !/cut|closed|reset|hang up|unreachable|answer/i.test(error.message)) throw error
    }
  }
}
