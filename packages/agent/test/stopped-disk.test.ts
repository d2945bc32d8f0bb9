/** A build that is stopped while the agent creates its disk, in a cluster without a provisioner. */
import { silentLog, systemClock } from '@windlass/kit'
import type { StartTask } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { kubernetesExecutor } from '../src/index.ts'
import { policyWith } from './support/attempt-objects.ts'
import { openFakeKube } from './support/fake-kube.ts'

const BUILD = '65a1b2c3d4e5f60718293a4b'
const LABELS = { 'windlass.io/build': BUILD, 'windlass.io/attempt': '1' }
const TASK: StartTask = {
  kind: 'start-attempt',
  id: 'start',
  revision: 1,
  buildId: BUILD,
  attempt: 1,
  runtime: 'r',
  leaseMs: 1,
  engine: { bootstrap: 'bootstrap', serverUrl: 'https://windlass.example.com' },
  disk: { storageClassName: '', sizeBytes: 1, selector: [], sortOrder: [], labels: { 'codefresh-app': 'dind' }, reset: false },
  objects: [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'pvc-dind', namespace: 'builds', labels: LABELS },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '16Gi' } } },
    },
  ],
}

test.each(['POST persistentvolumes/', 'PATCH persistentvolumeclaims/', 'PATCH persistentvolumes/'])(
  'leaves a disk that the next build can take if the build is stopped at %s',
  async (at) => {
    await using fake = await openFakeKube()
    const policy = policyWith({ POLICY: 'permissive', SERVICE_ACCOUNTS: 'default' })
    const executor = kubernetesExecutor({ kube: fake.kube(), policy, volumeParentDir: '/disks', starts: { perCore: 1 } })({
      report: () => undefined,
      clock: systemClock,
      log: silentLog,
    })
    const stop = new AbortController()
    fake.intercept = ({ line }) => {
      if (line.startsWith(at)) stop.abort(new DOMException('the attempt is stopped', 'AbortError'))
      return undefined
    }
    await executor.start(TASK, stop.signal).catch(() => undefined)
    expect(stop.signal.aborted).toBe(true)
    const [volume] = [...fake.objects].flatMap(([key, object]) => (key.startsWith('persistentvolumes/') ? [object] : []))
    expect(volume?.['metadata']).toMatchObject({ annotations: { 'windlass.io/unconfirmed': null } })
    await executor.close()
  },
)
