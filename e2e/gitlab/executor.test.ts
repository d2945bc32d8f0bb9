/** How scripts reach the pod and their output leaves it: cut connections, execution strategies, entrypoints, volumes of parallel jobs. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { forwardPort } from '../support/forward.ts'
import { ensureImages } from '../support/images.ts'
import { eventually } from '../support/installation.ts'
import { runProgram } from '../support/process.ts'
import { openRunnerScene, type Manager, type ManagerSettings, type RunnerScene } from './support/runner-scene.ts'
import { touchInJob } from './support/touch-in-job.ts'
import { traceLines } from './support/trace-lines.ts'

let scene: RunnerScene
let manager: Manager | undefined
beforeAll(async () => {
  scene = await openRunnerScene(`gitlab-executor-${process.pid}`)
})
afterEach(async () => {
  await manager?.service.stop('SIGTERM')
  manager = undefined
})
afterAll(() => scene?.close())

async function start(settings: ManagerSettings): Promise<void> {
  manager = await scene.startManager(settings)
}

test('connections to the API server that break in the middle of a job lose no line (G078)', async () => {
  const admin = readFileSync(scene.kubeconfig, 'utf8')
  const { port: target = '', host = '' } = /https:\/\/(?<host>[\d.]+):(?<port>\d+)/.exec(admin)?.groups ?? {}
  await using forwarder = await forwardPort('127.0.0.1', Number(target))
  const kubeconfig = join(dirname(scene.kubeconfig), 'cut.kubeconfig')
  writeFileSync(kubeconfig, admin.replaceAll(`${host}:${target}`, `127.0.0.1:${forwarder.port}`), { mode: 0o600 })
  await start({ name: 'cut', kubeconfig })
  const pauses = [100, 200, 300, 400, 500]
  const wait = 'case $n in *00) until [ -e /tmp/after-$n ]; do sleep 0.1; done;; esac'
  const job = scene.enqueue([`touch /tmp/after-600; for n in $(seq 1 600); do echo "line $n"; ${wait}; sleep 0.02; done`])
  let cuts = 0
  for (const pause of pauses) {
    await eventually(`line ${pause} arrives`, async () => (traceLines(job).includes(`line ${pause}`) ? true : undefined))
    const [pod = ''] = await scene.names('pods')
    await scene.kubectl('exec', pod, '--container', 'build', '--', 'touch', `/tmp/after-${pause}`)
    // While the next lines are written. A connection gets time to be opened again, whatever that takes.
    cuts += forwarder.cut()
  }
  expect(cuts).toBeGreaterThanOrEqual(pauses.length)
  await scene.ended(job)
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
  expect(traceLines(job).filter((line) => line.startsWith('line '))).toEqual(
    Array.from({ length: 600 }, (_, n) => `line ${n + 1}`),
  )
})

test('a runner that is configured for the exec strategy runs jobs in the same way (G079)', async () => {
  await start({ name: 'exec', runner: '[runners.feature_flags]\nFF_USE_LEGACY_KUBERNETES_EXECUTION_STRATEGY = true\n' })
  const good = await scene.ended(scene.enqueue(['cat greeting.txt']))
  expect(good.final, good.trace.toString()).toMatchObject({ state: 'success' })
  expect(traceLines(good)).toContain('hello from the repository')
  const bad = await scene.ended(scene.enqueue(['exit 7']))
  expect(bad.final).toMatchObject({ state: 'failed', failureReason: 'script_failure', exitCode: 7 })
})

test('the entrypoint of an image runs before the script if its flag is set, and not otherwise (G080)', async () => {
  const image = 'windlass.local/entrypoint-of-a-test:1'
  const { SHELL_IMAGE: base } = await ensureImages('shell')
  const dockerfile = [
    `FROM ${base}`,
    `RUN printf '#!/bin/sh\\necho prepared >/tmp/prepared\\nexec "$@"\\n' >/entry && chmod 755 /entry`,
    'ENTRYPOINT ["/entry"]',
  ].join('\n')
  await runProgram('docker', ['build', '--quiet', '--tag', image, '-'], { input: dockerfile })
  try {
    await scene.cluster.load(image)
    await start({ name: 'entrypoint' })
    const script = ['cat /tmp/prepared || echo not prepared']
    const variables = [{ key: 'FF_KUBERNETES_HONOR_ENTRYPOINT', value: 'true', public: true }]
    const honored = await scene.ended(scene.enqueue(script, { image: { name: image }, variables }))
    expect(honored.final, honored.trace.toString()).toMatchObject({ state: 'success' })
    expect(traceLines(honored)).toContain('prepared')
    const ignored = await scene.ended(scene.enqueue(script, { image: { name: image } }))
    expect(traceLines(ignored)).toContain('not prepared')
  } finally {
    await runProgram('docker', ['rmi', image])
  }
})

test('jobs that run at the same time have claims of their own by CI_CONCURRENT_ID (G066)', async () => {
  const ids = ['0', '1']
  await scene.cluster.apply(...ids.flatMap((id) => claimOf(`build-pvc-${id}`)))
  await start({
    name: 'claims',
    kubernetes: '[[runners.kubernetes.volumes.pvc]]\nname = "build-pvc-$CI_CONCURRENT_ID"\nmount_path = "/kept"\n',
  })
  const script = [
    'echo "$CI_CONCURRENT_ID" >/kept/owner',
    'echo "written by $HOSTNAME"; until [ -e /kept/go ]; do sleep 0.2; done',
    'echo "owner $(cat /kept/owner)"',
  ]
  const jobs = [scene.enqueue(script), scene.enqueue(script)]
  const pods = await eventually('both jobs run', async () => {
    const names = jobs.flatMap((job) => traceLines(job).flatMap((line) => /^written by (\S+)$/.exec(line)?.[1] ?? []))
    return names.length === jobs.length ? names : undefined
  })
  // Pods of earlier tests may still end, and have no container to enter.
  for (const pod of pods) await touchInJob(scene.kubectl, pod, '/kept/go')
  for (const job of jobs) await scene.ended(job)
  const owners = jobs.map((job) => traceLines(job).find((line) => line.startsWith('owner ')) ?? '')
  expect(owners.toSorted()).toEqual(['owner 0', 'owner 1'])
  await scene.kubectl('delete', 'pvc', '--all', '--wait=false')
  await scene.cluster.kubectl('delete', 'pv', ...ids.map((id) => `${scene.namespace}-build-pvc-${id}`), '--wait=false')
})

test('the output of services is part of the trace of a job with CI_DEBUG_SERVICES, masked, and not of another one (G071)', async () => {
  await start({ name: 'services' })
  const services = [
    {
      name: scene.image,
      alias: 'backend',
      entrypoint: ['bash', '-c'],
      command: ['for n in 1 2 3; do echo "line $n of the service, $SECRET"; done; sleep 300'],
      variables: [{ key: 'SECRET', value: 'sesame-open-12345' }],
    },
  ]
  const secret = { key: 'SECRET', value: 'sesame-open-12345', masked: true, public: false }
  const debug = { key: 'CI_DEBUG_SERVICES', value: 'true', public: true }
  const hold = ['echo "working in $HOSTNAME"; until [ -e /tmp/go ]; do sleep 0.2; done']
  const shown = scene.enqueue(hold, { services, variables: [secret, debug] })
  const lines = (): string[] => traceLines(shown, 0x0f)
  // The manager needs two connections and a program in the pod for it.
  await eventually('the trace has the output of the service', async () => (lines().length >= 3 ? true : undefined))
  // Its own lines may come after those of the service.
  const pod = await eventually('the script runs', async () =>
    traceLines(shown)
      .flatMap((line) => /^working in (\S+)$/.exec(line)?.[1] ?? [])
      .at(0),
  )
  await touchInJob(scene.kubectl, pod)
  await scene.ended(shown)
  expect(shown.final, shown.trace.toString()).toMatchObject({ state: 'success' })
  expect(lines(), shown.trace.toString()).toEqual([1, 2, 3].map((n) => `[service:backend] line ${n} of the service, [MASKED]`))
  const patches = scene.coordinator.of('trace').filter(({ path }) => path.includes(String(shown.payload.id)))
  expect(patches.map(({ query }) => query.get('debug_trace'))).toEqual(patches.map(() => 'true'))
  const hidden = await scene.ended(scene.enqueue(['echo working; sleep 4'], { services, variables: [secret] }))
  expect(hidden.final).toMatchObject({ state: 'success' })
  expect(hidden.trace.toString()).not.toContain('of the service')
})

/** Returns a claim and a volume for it. The cluster has no provisioner. */
function claimOf(name: string): object[] {
  // The node is this machine.
  const folder = join(dirname(scene.kubeconfig), name)
  mkdirSync(folder)
  const volume = `${scene.namespace}-${name}`
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: '' }
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: volume },
      spec: { ...common, capacity: { storage: '1Mi' }, hostPath: { path: folder } },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace: scene.namespace },
      spec: { ...common, volumeName: volume, resources: { requests: { storage: '1Mi' } } },
    },
  ]
}
