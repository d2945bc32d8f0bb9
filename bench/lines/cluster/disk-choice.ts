/** Choice of one of 1,000 disks for a build: the pure function, with the data that the provisioner has from its watch. */
import type { DiskRequest } from '@windlass/protocol'
import { chooseDisks, Volume } from '@windlass/volumes'
import { sample, type Line, type Row } from '../../row.ts'

const DISKS = 1_000
const SAMPLES = 200

export const diskChoice: Line = { name: 'disk-choice', measure }

async function measure(): Promise<Row[]> {
  const disks = Array.from({ length: DISKS }, (_, n) => diskOf(n))
  const request: DiskRequest = {
    storageClassName: 'dind',
    sizeBytes: 2 ** 34,
    selector: ['codefresh-app', 'io.codefresh.accountName'],
    sortOrder: ['pipeline_id', 'trigger'],
    labels: { 'codefresh-app': 'dind', 'io.codefresh.accountName': 'acme', pipeline_id: 'p7', trigger: 't3' },
    reset: false,
  }
  const now = Date.parse('2026-06-01')
  const value = await sample(SAMPLES, 20, async () => void chooseDisks(disks, request, now))
  const times = disks.map(({ metadata }) => metadata.annotations['codefresh.io/lastUsedTimestamp'] ?? '')
  const floor = await sample(SAMPLES, 20, async () => void times.map((time) => Date.parse(time)).toSorted((a, b) => b - a))
  return [
    {
      name: 'disk-choice',
      figure: `the best of ${DISKS} disks, all of them fit the selector`,
      unit: 'ms',
      value,
      warmUp: 20,
      floor: { what: `${DISKS} times of last use read and sorted`, value: floor },
      goal: 10,
    },
  ]
}

function diskOf(n: number): Volume {
  const at = Date.parse('2026-01-01') + ((n * 7_919) % DISKS) * 60_000
  const labels = { 'codefresh-app': 'dind', 'io.codefresh.accountName': 'acme', pipeline_id: `p${n % 20}`, trigger: `t${n % 6}` }
  const annotations = { 'codefresh.io/lastUsedTimestamp': new Date(at).toISOString(), 'codefresh.io/mount-count': String(n % 9) }
  return Volume.parse({
    metadata: { name: `disk-${n}`, resourceVersion: String(n), labels, annotations },
    spec: { capacity: { storage: '16Gi' }, storageClassName: 'dind' },
    status: { phase: 'Released' },
  })
}
