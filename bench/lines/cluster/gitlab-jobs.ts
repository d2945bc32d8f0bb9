/** Jobs of GitLab on the cluster: from the offer of the coordinator to the first line and to the end, many at once, a long log, and the idle manager. */
import { silentLog } from '@windlass/kit'
import { openKube, readKubeconfig, type ObjectRef } from '@windlass/kube'
import { readFileSync } from 'node:fs'
import type { FakeJob } from '../../../e2e/gitlab/support/fake-coordinator.ts'
import { openRunnerScene, type RunnerScene } from '../../../e2e/gitlab/support/runner-scene.ts'
import { eventually } from '../../../e2e/support/installation.ts'
import { podCallsHome } from '../../floors/pod.ts'
import { sample, single, type Line, type Row } from '../../row.ts'
import { requireCluster } from '../../stack/cluster.ts'

const RUNS = 10
const WARM_UP = 2
const AT_ONCE = 20
const LINES = 1_000_000
const IDLE_MS = 5_000

export const gitlabJobs: Line = { name: 'gitlab-jobs', measure }

async function measure(): Promise<Row[]> {
  await requireCluster()
  const scene = await openRunnerScene(`bench-gitlab-${process.pid}`)
  try {
    const { service } = await scene.startManager({ concurrent: AT_ONCE, runner: 'output_limit = 200000\n' })
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const idle = residentMib(service.pid)
    const { kubeconfig } = scene.cluster
    const floor = await podCallsHome({ kubeconfig, namespace: scene.namespace, image: scene.image }, RUNS)
    const first = await sample(RUNS, WARM_UP, async () => {
      const offeredAt = Date.now()
      const job = await scene.ended(scene.enqueue(['echo here']))
      return firstLineAt(job) - offeredAt
    })
    const many = await sample(3, 1, async () => {
      await withoutPods(scene)
      const startedAt = performance.now()
      const jobs = Array.from({ length: AT_ONCE }, () => scene.enqueue(['cat greeting.txt']))
      await Promise.all(jobs.map((job) => scene.ended(job)))
      return (performance.now() - startedAt) / 1_000
    })
    const { value: million, floor: attach } = await timeMillion(scene)
    return [
      {
        name: 'gitlab-first-line',
        figure: 'a GitLab job is offered -> first line of its script',
        unit: 'ms',
        value: first,
        warmUp: WARM_UP,
        floor: { what: 'a pod that opens a connection', value: floor },
        goal: 1_200,
      },
      {
        name: 'gitlab-many',
        figure: `${AT_ONCE} GitLab jobs are offered at once -> all have ended`,
        unit: 's',
        value: many,
        warmUp: 1,
        goal: 10,
      },
      {
        name: 'gitlab-million',
        figure: 'a GitLab job with 1,000,000 lines is offered -> its whole trace is delivered',
        unit: 's',
        value: million,
        warmUp: 1,
        floor: { what: 'the same lines by exec', value: attach },
        goal: 5,
      },
      { name: 'gitlab-idle', figure: 'memory of an idle manager', unit: 'MiB', value: single(idle), warmUp: 0, goal: 120 },
    ]
  } finally {
    await scene.close()
  }
}

/** Returns the time of the first line of the script, epoch milliseconds. */
function firstLineAt({ trace }: FakeJob): number {
  const at = /^(\S+) 01O here$/m.exec(trace.toString())?.[1]
  if (at === undefined) throw new Error('the trace has no line of the script')
  return Date.parse(at)
}

/** Resolves when no pod of a job is left: the objects of many jobs that have ended are removed together, and the next sample would pay for it. */
async function withoutPods(scene: RunnerScene): Promise<void> {
  await eventually('the pods of jobs are gone', async () => ((await scene.names('pods')).length === 0 ? true : undefined))
}

async function timeMillion(scene: RunnerScene): Promise<{ value: Row['value']; floor: Row['value'] }> {
  const value = await sample(3, 1, async () => {
    const startedAt = performance.now()
    const job = await scene.ended(scene.enqueue([`seq 1 ${LINES}`]))
    const took = (performance.now() - startedAt) / 1_000
    const count = job.trace.toString().match(/ 01O \d+\n/g)?.length ?? 0
    if (count !== LINES) throw new Error(`the trace has ${count} lines`)
    return took
  })
  const kube = openKube({ access: await readKubeconfig(scene.cluster.kubeconfig), log: silentLog })
  const pod: ObjectRef = { kind: 'Pod', namespace: scene.namespace, name: 'floor-exec' }
  try {
    await scene.cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: pod.name, namespace: pod.namespace },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'a', image: scene.image, imagePullPolicy: 'Never', command: ['sleep', '600'] }],
      },
    })
    await eventually('the pod runs', async () =>
      (await scene.kubectl('get', 'pod', pod.name, '--output', 'jsonpath={.status.phase}')) === 'Running' ? true : undefined,
    )
    const floor = await sample(3, 1, async () => {
      const startedAt = performance.now()
      const { stdout, stderr, exit } = await kube.exec(pod, { command: ['seq', '1', String(LINES)] })
      stderr.resume()
      stdout.resume()
      await exit
      return (performance.now() - startedAt) / 1_000
    })
    return { value, floor }
  } finally {
    await kube.delete(pod, { graceSeconds: 0 })
    kube.close()
  }
}

function residentMib(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(line) / 1_024
}
